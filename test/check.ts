import { spawn } from 'bun'

/** In one thread: each further thread resolves the types of the libraries again, and the checks already fill two cores. */
const TYPES = ['node_modules/typescript-native/bin/tsc', '--singleThreaded']

/** Checks of the source before any test runs; `npm run check` runs only these. */
const CHECKS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['types', ...TYPES],
  ['types of the launcher', ...TYPES, '--project', 'bin'],
  ['types of the client', ...TYPES, '--project', 'client'],
  ['lint and format', 'node_modules/.bin/biome', 'check', '.'],
  ['unused code', 'node_modules/.bin/knip'],
]

interface Checks {
  readonly passed: number
  readonly failed: number
  /** The output of each check, and whether it passed. */
  readonly output: string
}

/** Runs all checks at once. */
export async function check(): Promise<Checks> {
  const results = await Promise.all(CHECKS.map(([name, ...command]) => run(name, command)))
  const failed = results.filter(({ isPassed }) => !isPassed).length
  return { passed: results.length - failed, failed, output: results.map(({ output }) => output).join('') }
}

async function run(name: string, command: string[]) {
  const child = spawn(command, { stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  const isPassed = (await child.exited) === 0
  return { isPassed, output: `${output}${errors}check: ${name}: ${isPassed ? 'passed' : 'failed'}\n` }
}

if (import.meta.main) {
  const { failed, output } = await check()
  process.stdout.write(output)
  process.exitCode = failed === 0 ? 0 : 1
}
