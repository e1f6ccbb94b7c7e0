import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { client } from '../../test/harness/client.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { adminAddress, type Scrape, scrape, WITH_METRICS } from '../../test/harness/metrics.ts'
import { childrenOf } from '../../test/harness/process-tree.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, type Service } from '../../test/harness/service.ts'
import { type ServedShop, startShopOn } from '../../test/harness/shop.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** The supervisor must not ask it about its own workers. */
const PROXY = { http_proxy: 'http://127.0.0.1:1' }

const REQUESTS = 'stockroom_http_requests_total'

describe.skipIf(process.platform !== 'linux')('the metrics of several workers', () => {
  test('are their sums, at one port', async () => {
    await using shop = await startShop()
    const { service } = shop
    await ask(service, 200)
    const { families, value } = await metricsWith(200, service)
    expect(value(REQUESTS, { route: '/products/', status: '200' })).toBe(200)
    expect(value('stockroom_http_request_duration_seconds_count', { route: '/products/' })).toBe(200)
    expect(value('stockroom_workers')).toBe(2)
    expect(value('stockroom_worker_restarts_total')).toBe(0)
    // Two workers and the supervisor.
    expect(value('process_resident_memory_bytes')).toBeGreaterThan(3 * 20_000_000)
    expect(value('stockroom_build_info')).toBe(1)
    // The limit for both together, and the open files of the workers, without the supervisor's.
    expect(value('stockroom_http_connections_max')).toBe(10_000)
    const [, limit] =
      /^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync(`/proc/${service.processId}/limits`, 'utf8')) ?? []
    expect(value('process_max_fds')).toBe(2 * Number(limit))
    const started = value('process_start_time_seconds')
    expect(Math.abs(Date.now() / 1_000 - started)).toBeLessThan(60)
    expect(new Set(families.map(({ name }) => name)).size).toBe(families.length)
    expect((await fetch(`${await adminAddress(service)}/readyz`)).status).toBe(200)
    expect(await service.stop()).toBe(0)
  })

  test('never go back when a worker dies, and count on with the one that takes its place', async () => {
    await using shop = await startShop()
    const { service } = shop
    await client(() => service.address).create('/products/', sample.product)
    await ask(service, 100)
    let before = await scrape(service)
    for (let killed = 1; killed <= 2; killed += 1) {
      process.kill(childrenOf(service.processId)[0] ?? 0, 'SIGKILL')
      await until(async () => {
        const now = await scrape(service)
        expect(shrunk(before, now)).toEqual([])
        return now.value('stockroom_worker_restarts_total') === killed && now.value('stockroom_workers') === 2
      })
      await ask(service, 100)
      const now = await metricsWith(100 * (killed + 1), service)
      expect(shrunk(before, now)).toEqual([])
      expect(now.value(REQUESTS, { route: '/products/', method: 'GET' })).toBe(100 * (killed + 1))
      before = now
    }
  })

  test('a port for operators that is in use ends the start with one line', async () => {
    await using database = await sqlite.freshDatabase()
    using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    for (const workers of ['1', '2']) {
      const place = ['--host', '127.0.0.1', '--port', '0', '--database', database.url]
      const refused = await run(['serve', ...place, '--workers', workers, '--admin-port', String(taken.port)])
      expectRefusal(refused, { status: 1, reason: new RegExp(`127\\.0\\.0\\.1:${taken.port} is in use.*--admin-port`) })
    }
  })
})

function startShop(): Promise<ServedShop> {
  return startShopOn(sqlite, { flags: ['--workers', '2', ...WITH_METRICS], environment: PROXY })
}

/** Asks over new connections, which the kernel spreads over the workers. */
async function ask({ address }: Service, times: number): Promise<void> {
  const headers = { Connection: 'close' }
  const answers = await Promise.all(Array.from({ length: times }, () => fetch(`${address}/products/`, { headers })))
  for (const { status } of answers) expect(status).toBe(200)
}

/** The metrics with so many lists of products; a worker that is too busy to answer in time counts as it did the last time. */
async function metricsWith(lists: number, service: Service): Promise<Scrape> {
  for (;;) {
    const metrics = await scrape(service)
    if (metrics.value(REQUESTS, { route: '/products/', method: 'GET' }) >= lists) return metrics
  }
}

/** The counts that are smaller than they were. */
function shrunk(before: Scrape, now: Scrape): string[] {
  return before.families
    .filter(({ kind }) => kind !== 'gauge')
    .flatMap(({ samples }) => samples)
    .filter(({ name, labels, value }) => now.value(name, labels) < value)
    .map(({ name }) => name)
}
