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

/** Runs all checks at once; returns how many passed and failed. */
export async function check(): Promise<{ passed: number; failed: number }> {
  const counts = { passed: 0, failed: 0 }
  const runs = CHECKS.map(([name, ...command]) => ({ name, ...run(command) }))
  for (const { name, output, exited } of runs) {
    process.stdout.write(await output)
    const isPassed = (await exited) === 0
    counts[isPassed ? 'passed' : 'failed'] += 1
    console.log(`check: ${name}: ${isPassed ? 'passed' : 'failed'}`)
  }
  return counts
}

function run(command: string[]) {
  const child = spawn(command, { stdout: 'pipe', stderr: 'pipe' })
  const output = Promise.all([child.stdout.text(), child.stderr.text()]).then(texts => texts.join(''))
  return { output, exited: child.exited }
}

if (import.meta.main) process.exitCode = (await check()).failed === 0 ? 0 : 1
