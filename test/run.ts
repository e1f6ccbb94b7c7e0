import { check } from './check.ts'
import { SHARED_BROWSER_VARIABLE } from './harness/browser/chromium.ts'
import { runBunTest, summary } from './harness/bun-test.ts'
import { buildExecutable, EXECUTABLE_VARIABLE } from './harness/executable.ts'
import { INITIALIZED_DATA_VARIABLE, initializedData } from './harness/postgres/server.ts'
import { SHARED_SERVER_VARIABLE, startSharedServer } from './harness/postgres/shared-server.ts'
import { temporaryFolder } from './harness/temporary-folder.ts'

await using server = await startSharedServer()
using browser = temporaryFolder()
using built = temporaryFolder()
using initialized = temporaryFolder()
const data = await initializedData(initialized.path)
// They print at the end, where nobody overlooks them.
const checking = check()
const tests = await runBunTest(process.argv.slice(2), {
  environment: {
    [SHARED_SERVER_VARIABLE]: server.url(),
    [INITIALIZED_DATA_VARIABLE]: data,
    [SHARED_BROWSER_VARIABLE]: browser.path,
    [EXECUTABLE_VARIABLE]: await buildExecutable(built.path),
  },
})
const checks = await checking
process.stdout.write(checks.output)
const failed = checks.failed + tests.failed
process.exitCode = failed === 0 ? 0 : 1
console.log(summary({ passed: checks.passed + tests.passed, failed, skipped: tests.skipped }))
