import { parseArgs } from 'node:util'
import { ENGINES } from '../harness/engines.ts'
import { SHARED_SERVER_VARIABLE, startSharedServer } from '../harness/postgres/shared-server.ts'
import { startService } from '../harness/service.ts'
import { fuzzCatalog } from './catalog.ts'

/** `npm run fuzz`: sends requests to a service of its own until one is answered wrong. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    requests: { type: 'string', default: '100000' },
    engine: { type: 'string', default: 'sqlite' },
    workers: { type: 'string', default: '8' },
  },
})
const [seed, requests, workers] = [values.seed, values.requests, values.workers].map(Number)
const engine = ENGINES.find(({ name }) => name.toLowerCase().startsWith(values.engine))
if (!engine || !seed || !requests || !workers) {
  console.error('usage: npm run fuzz -- [--seed N] [--requests N] [--engine sqlite|postgres] [--workers N]')
  process.exitCode = 2
} else {
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
