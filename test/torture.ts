import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Glob } from 'bun'
import { runBunTest, summary } from './harness/bun-test.ts'
import { HISTORY_VARIABLE, TORTURE_VARIABLE } from './harness/campaign.ts'
import { SHARED_SERVER_VARIABLE, startSharedServer } from './harness/postgres/shared-server.ts'

/** Runs the campaigns longer than `npm test` does: all, or those in files whose paths contain one of the words. */
const { values, positionals: words } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, history: { type: 'string' } },
  allowPositionals: true,
})
const minutes = Number(values.minutes)
const files = campaignFiles().filter(file => words.length === 0 || words.some(word => file.includes(word)))
if (!(minutes > 0)) {
  console.error(`--minutes: ${values.minutes} is no length of time`)
  process.exitCode = 2
} else if (files.length === 0) {
  console.error(`no campaign is in a file named like ${words.join(' or ')}`)
  process.exitCode = 2
} else {
  console.log(`each campaign of these goes on for ${minutes} minutes:\n${files.map(file => `  ${file}`).join('\n')}`)
  await using server = await startSharedServer()
  const outcome = await runBunTest(
    files.map(file => `./${file}`),
    {
      environment: {
        [TORTURE_VARIABLE]: String(minutes),
        [SHARED_SERVER_VARIABLE]: server.url(),
        ...(values.history !== undefined && { [HISTORY_VARIABLE]: resolve(values.history) }),
      },
    },
  )
  process.exitCode = outcome.failed === 0 ? 0 : 1
  console.log(summary(outcome))
}

function campaignFiles(): string[] {
  const tests = [...new Glob('{src,test}/**/*.test.ts').scanSync()]
  return tests.filter(file => readFileSync(file, 'utf8').includes("/campaign.ts'")).sort()
}
