import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { check } from './check.ts'
import { temporaryFolder } from './folder.ts'
import { SHARED_SERVER_VARIABLE, startSharedServer } from './postgres/shared.ts'

const TEST_TIMEOUT_MS = 120_000

const checks = check()
const tests = await runTests()
const passed = checks.passed + tests.passed
const failed = checks.failed + tests.failed
process.exitCode = failed === 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed`)

/** Runs `bun test`, and counts by its report, since a run that breaks off prints no counts. */
async function runTests(): Promise<{ passed: number; failed: number }> {
  await using server = await startSharedServer()
  using folder = temporaryFolder()
  const report = join(folder.path, 'report.xml')
  const { exitCode } = spawnSync(
    [
      process.execPath,
      'test',
      '--parallel',
      `--timeout=${TEST_TIMEOUT_MS}`,
      '--reporter=junit',
      `--reporter-outfile=${report}`,
      ...process.argv.slice(2),
    ],
    {
      env: { ...process.env, [SHARED_SERVER_VARIABLE]: server.url() },
      stdout: 'inherit',
      stderr: 'inherit',
    },
  )
  const counts = /<testsuites [^>]*tests="(\d+)"[^>]*failures="(\d+)"/.exec(readReport(report))
  const all = Number(counts?.[1] ?? 0)
  // A run that ends badly has failed, even if each test that it came to passed.
  const failures = Math.max(Number(counts?.[2] ?? 0), exitCode === 0 ? 0 : 1)
  return { passed: Math.max(all - failures, 0), failed: failures }
}

function readReport(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
