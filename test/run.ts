import { check } from './check.ts'
import { SHARED_BROWSER_VARIABLE } from './harness/browser/chromium.ts'
import { runBunTest, summary } from './harness/bun-test.ts'
import { buildExecutable, EXECUTABLE_VARIABLE } from './harness/executable.ts'
import { SHARED_SERVER_VARIABLE } from './harness/postgres/database.ts'
import { INITIALIZED_DATA_VARIABLE, initializedData } from './harness/postgres/server.ts'
import { startSharedServer } from './harness/postgres/shared-server.ts'
import { OF_TESTS } from './harness/runtime.ts'
import { temporaryFolder } from './harness/temporary-folder.ts'

using browser = temporaryFolder()
using built = temporaryFolder()
using initialized = temporaryFolder()
const building = buildExecutable(built.path)
process.env[INITIALIZED_DATA_VARIABLE] = await initializedData(initialized.path)
await using server = await startSharedServer()
// They print at the end, where nobody overlooks them.
const checking = check()
const tests = await runBunTest(process.argv.slice(2), {
  environment: {
    ...OF_TESTS,
    [SHARED_SERVER_VARIABLE]: server.url(),
    [SHARED_BROWSER_VARIABLE]: browser.path,
    [EXECUTABLE_VARIABLE]: await building,
  },
})
const checks = await checking
process.stdout.write(checks.output)
const failed = checks.failed + tests.failed
process.exitCode = failed === 0 ? 0 : 1
console.log(summary({ passed: checks.passed + tests.passed, failed, skipped: tests.skipped }))
