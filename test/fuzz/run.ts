import { type CommandLine, readCommandLine, type Setting, wholeNumber } from '../../src/program/config.ts'
import { OperatorError, SettingError } from '../../src/program/operator-error.ts'
import { ENGINES, type Engine } from '../harness/engines.ts'
import { SHARED_SERVER_VARIABLE } from '../harness/postgres/database.ts'
import { startSharedServer } from '../harness/postgres/shared-server.ts'
import { startService } from '../harness/service.ts'
import { fuzzCatalog } from './catalog.ts'

const USAGE = 'usage: npm run fuzz -- [--seed N] [--requests N] [--engine sqlite|postgres] [--workers N]'

const NUMBER_MAX = 2 ** 31
const SEED = numberAbove0('seed', Math.ceil(Math.random() * NUMBER_MAX))
const REQUESTS = numberAbove0('requests', 100_000)
const WORKERS = numberAbove0('workers', 8)
const ENGINE = { flag: 'engine', placeholder: 'NAME', fallback: 'sqlite', meaning: 'the database', parse: engineOf }

const words = process.argv.slice(2)
try {
  if (words.includes('--help')) console.log(USAGE)
  else await fuzz(readCommandLine(words, [SEED, REQUESTS, WORKERS, ENGINE]))
} catch (error) {
  if (!(error instanceof OperatorError)) throw error
  console.error(`${error.message}; ${USAGE}`)
  process.exitCode = error.exitStatus
}

/** Sends requests to a service of its own until one is answered wrong. */
async function fuzz({ value }: CommandLine): Promise<void> {
  const [seed, requests, workers, engine] = [value(SEED), value(REQUESTS), value(WORKERS), value(ENGINE)]
  await using server = engine.name === 'SQLite' ? null : await startSharedServer()
  if (server) process.env[SHARED_SERVER_VARIABLE] = server.url()
  await using database = await engine.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  console.log(`${requests} requests on ${engine.name}, with --seed ${seed} --workers ${workers}`)
  const started = performance.now()
  const { finding, statuses, residentKib } = await fuzzCatalog(service, { seed, requests, workers })
  const counts = [...statuses].toSorted(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`)
  console.log(
    `${Math.round((performance.now() - started) / 1_000)} s; described requests by status: ${counts.join(', ')}`,
  )
  console.log(`resident memory: ${residentKib.map(kib => `${Math.round(kib / 1_024)} MiB`).join(' at first, then ')}`)
  console.log(finding ?? 'nothing was wrong')
  process.exitCode = finding === null ? 0 : 1
}

function numberAbove0(flag: string, fallback: number): Setting<number> {
  const parse = (text: string) => wholeNumber(text, 1, NUMBER_MAX)
  return { flag, placeholder: 'N', fallback: String(fallback), meaning: 'a number', parse }
}

function engineOf(text: string): Engine {
  const engine = ENGINES.find(({ name }) => text !== '' && name.toLowerCase().startsWith(text))
  if (!engine) throw new SettingError(`${JSON.stringify(text)} is no engine`)
  return engine
}
