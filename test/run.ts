import { check } from './check.ts'
import { SHARED_BROWSER_VARIABLE } from './harness/browser/chromium.ts'
import { runBunTest, summary } from './harness/bun-test.ts'
import { buildExecutable, EXECUTABLE_VARIABLE } from './harness/executable.ts'
import { SHARED_SERVER_VARIABLE, startSharedServer } from './harness/postgres/shared-server.ts'
import { temporaryFolder } from './harness/temporary-folder.ts'

await using server = await startSharedServer()
using browser = temporaryFolder()
using built = temporaryFolder()
const [checks, executable] = await Promise.all([check(), buildExecutable(built.path)])
const tests = runBunTest(process.argv.slice(2), {
  environment: {
    [SHARED_SERVER_VARIABLE]: server.url(),
    [SHARED_BROWSER_VARIABLE]: browser.path,
    [EXECUTABLE_VARIABLE]: executable,
  },
})
const failed = checks.failed + tests.failed
process.exitCode = failed === 0 ? 0 : 1
console.log(summary({ passed: checks.passed + tests.passed, failed, skipped: tests.skipped }))
