import { spawnSync } from 'bun'

/** Checks of the source before any test runs; `npm run check` runs only these. */
const CHECKS: readonly (readonly [name: string, ...command: string[]])[] = [
  ['types', 'node_modules/typescript-native/bin/tsc'],
  ['types of the launcher', 'node_modules/typescript-native/bin/tsc', '--project', 'bin'],
  ['lint and format', 'node_modules/.bin/biome', 'check', '.'],
  ['unused code', 'node_modules/.bin/knip'],
]

/** Runs all checks; returns how many passed and failed. */
export function check(): { passed: number; failed: number } {
  const counts = { passed: 0, failed: 0 }
  for (const [name, ...command] of CHECKS) {
    const { exitCode } = spawnSync(command, { stdout: 'inherit', stderr: 'inherit' })
    counts[exitCode === 0 ? 'passed' : 'failed'] += 1
    console.log(`check: ${name}: ${exitCode === 0 ? 'passed' : 'failed'}`)
  }
  return counts
}

if (import.meta.main) process.exitCode = check().failed === 0 ? 0 : 1
