import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Glob } from 'bun'
import { type CommandLine, optional, readCommandLine, type Setting } from '../src/program/config.ts'
import { OperatorError, SettingError } from '../src/program/operator-error.ts'
import { runBunTest, summary } from './harness/bun-test.ts'
import { HISTORY_VARIABLE, TORTURE_VARIABLE } from './harness/campaign.ts'
import { SHARED_SERVER_VARIABLE } from './harness/postgres/database.ts'
import { startSharedServer } from './harness/postgres/shared-server.ts'

const USAGE = 'usage: npm run torture -- [--minutes N] [--history FOLDER] [WORD ...]'

const MINUTES: Setting<number> = {
  flag: 'minutes',
  placeholder: 'N',
  fallback: '1',
  meaning: 'how long each campaign goes on',
  parse: text => {
    const minutes = Number(text)
    if (!(minutes > 0 && minutes < Number.POSITIVE_INFINITY)) throw new SettingError(`${text} is no length of time`)
    return minutes
  },
}

const HISTORY = optional('history', 'FOLDER', text => resolve(text), 'where to write the history for Elle')

const words = process.argv.slice(2)
try {
  if (words.includes('--help')) console.log(USAGE)
  else await torture(readCommandLine(words, [MINUTES, HISTORY], 'WORD ...'))
} catch (error) {
  if (!(error instanceof OperatorError)) throw error
  console.error(`${error.message}; ${USAGE}`)
  process.exitCode = error.exitStatus
}

/** Runs the campaigns longer than `npm test` does: all, or those in files whose paths contain one of the words. */
async function torture({ operands, value }: CommandLine): Promise<void> {
  const [minutes, history] = [value(MINUTES), value(HISTORY)]
  const files = campaignFiles().filter(file => operands.length === 0 || operands.some(word => file.includes(word)))
  if (files.length === 0) throw new SettingError(`no campaign is in a file named like ${operands.join(' or ')}`)
  console.log(`each campaign of these goes on for ${minutes} minutes:\n${files.map(file => `  ${file}`).join('\n')}`)
  await using server = await startSharedServer()
  const outcome = await runBunTest(
    files.map(file => `./${file}`),
    {
      environment: {
        [TORTURE_VARIABLE]: String(minutes),
        [SHARED_SERVER_VARIABLE]: server.url(),
        ...(history !== null && { [HISTORY_VARIABLE]: history }),
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
