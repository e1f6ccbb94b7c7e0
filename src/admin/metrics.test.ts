import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { once } from 'node:events'
import { readFileSync, renameSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { withEachEngine } from '../../test/harness/contract.ts'
import { citus, type Engine, sqlite } from '../../test/harness/engines.ts'
import {
  adminAddress,
  type ScrapedFamily,
  type ScrapedSample,
  scrape,
  WITH_METRICS,
} from '../../test/harness/metrics.ts'
import { createDatabase } from '../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../test/harness/postgres/shared-server.ts'
import { sample } from '../../test/harness/samples.ts'
import { type Service, startService } from '../../test/harness/service.ts'
import { type ServedShop, startShopOn } from '../../test/harness/shop.ts'
import { openTcpProxy } from '../../test/harness/tcp-proxy.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const REQUESTS = 'stockroom_http_requests_total'
const CONNECTIONS = 3

/** A service for all tests of a `describe`. */
function sharedShop(engine: Engine, flags: readonly string[]): () => ServedShop {
  let shop: ServedShop
  beforeAll(async () => {
    shop = await startShopOn(engine, { flags, environment: { DATABASE_CONNECTIONS: String(CONNECTIONS) } })
  })
  afterAll(() => shop[Symbol.asyncDispose]())
  return () => shop
}

/** Starts to count: the result is by how much a metric has grown since. */
async function counting(service: Service) {
  const before = await scrape(service)
  return async () => {
    const now = await scrape(service)
    return (...metric: Parameters<typeof now.value>) => now.value(...metric) - before.value(...metric)
  }
}

withEachEngine('the metrics of the catalog', engine => {
  const shop = sharedShop(engine, WITH_METRICS)

  test('each request counts under its route, its method and its status', async () => {
    const { api, service } = shop()
    const counted = await counting(service)
    const id = await api.create('/categories/', sample.category)
    await api.get(`/categories/${id}`)
    await api.get(`/categories/${id}?unknown=1`)
    await api.get('/categories/4711')
    await api.get('/categories/abc')
    const value = await counted()
    const route = '/categories/:category_id'
    expect(value(REQUESTS, { route: '/categories/', method: 'POST', status: '200' })).toBe(1)
    expect(value(REQUESTS, { route, method: 'GET', status: '200' })).toBe(2)
    expect(value(REQUESTS, { route, method: 'GET', status: '404' })).toBe(1)
    expect(value(REQUESTS, { route, method: 'GET', status: '422' })).toBe(1)
    expect(value('stockroom_http_request_duration_seconds_count', { route, method: 'GET' })).toBe(4)
    expect(value('stockroom_http_request_duration_seconds_sum', { route, method: 'GET' })).toBeGreaterThan(0)
  })

  test('clients cannot add routes or methods: unknown paths share one label', async () => {
    const { api, service } = shop()
    const counted = await counting(service)
    for (const path of ['/a', '/b/c', '/products/1/2/3', '/users/%2e%2e/x']) await api.get(path)
    await fetch(`${service.address}/products/`, { method: 'TRACE' }).catch(() => {})
    await fetch(`${service.address}/products/`, { method: 'PROPFIND' }).catch(() => {})
    expect((await counted())(REQUESTS, { route: 'unmatched', status: '404' })).toBe(4)
    const { families } = await scrape(service)
    const samples = families.find(({ name }) => name === REQUESTS)?.samples ?? []
    expect(samples.map(({ labels }) => labels.route).filter(route => route?.includes('%') || route === '/a')).toEqual(
      [],
    )
    const methods = new Set(samples.map(({ labels }) => labels.method))
    expect([...methods].filter(method => !['GET', 'POST', 'other'].includes(method ?? ''))).toEqual([])
  })

  test('writes, hashed passwords and the cache show', async () => {
    const { api, service } = shop()
    const counted = await counting(service)
    const ids = await Promise.all(Array.from({ length: 8 }, () => api.create('/categories/', sample.category)))
    await api.create('/users/', sample.user)
    const [id] = ids
    // On PostgreSQL, a write of another test to the same server may clear the cache between two reads.
    const isCached = engine !== citus
    await until(async () => {
      await api.get(`/categories/${id}`)
      const { value } = await scrape(service)
      if (value('stockroom_event_loop_lag_seconds_count') < 2) return false
      return !isCached || (value('stockroom_cache_hits_total') > 0 && value('stockroom_cache_entries') > 0)
    })
    const { value } = await scrape(service)
    const grown = await counted()
    expect(grown('stockroom_password_hash_duration_seconds_count')).toBe(1)
    if (isCached) {
      expect(value('stockroom_cache_misses_total')).toBeGreaterThanOrEqual(1)
      expect(value('stockroom_cache_bytes')).toBeGreaterThan(0)
    }
    if (engine === sqlite) {
      const commits = value('stockroom_sqlite_commit_duration_seconds_count')
      expect(grown('stockroom_sqlite_commit_duration_seconds_count')).toBeGreaterThanOrEqual(1)
      expect(grown('stockroom_sqlite_commit_writes_sum')).toBeGreaterThanOrEqual(9)
      expect(value('stockroom_sqlite_commit_writes_count')).toBe(commits)
      // The user was alone in its commit.
      expect(grown('stockroom_sqlite_commit_writes_bucket', { le: '1' })).toBeGreaterThanOrEqual(1)
    } else {
      expect(grown('stockroom_postgres_statement_duration_seconds_count', { pool: 'writing' })).toBeGreaterThan(0)
      expect(grown('stockroom_postgres_statement_duration_seconds_count', { pool: 'reading' })).toBeGreaterThan(0)
      expect(grown('stockroom_postgres_batch_size_sum')).toBeGreaterThanOrEqual(9)
      expect(value('stockroom_postgres_connections_max', { pool: 'reading' })).toBe(CONNECTIONS)
    }
  })

  test('all names and texts follow the conventions of Prometheus', async () => {
    const { api, service } = shop()
    await api.get('/products/')
    const { families } = await scrape(service)
    expect(families.length).toBeGreaterThan(25)
    expect(families.flatMap(lint)).toEqual([])
  })
})

test('requests that are refused before they are read count under their route, with pages of other origins or without', async () => {
  for (const flags of [[], ['--cors-origins', 'https://shop.example']]) {
    await using shop = await startShopOn(sqlite, { flags: [...WITH_METRICS, '--rate-limit', '1/h', ...flags] })
    expect((await shop.api.get('/products/')).status).toBe(200)
    expect((await shop.api.get('/products/')).status).toBe(429)
    const { value } = await scrape(shop.service)
    expect(value(REQUESTS, { route: '/products/', status: '429' })).toBe(1)
  }
})

describe('the port for operators', () => {
  const shop = sharedShop(sqlite, [...WITH_METRICS, '--admin-allowed-hosts', 'metrics.internal'])

  test('is not there unless it is wanted, and its paths are never on the public port', async () => {
    await using without = await startShopOn(sqlite)
    expect(without.service.output()).not.toContain('operators')
    for (const service of [without.service, shop().service]) {
      for (const path of ['/metrics', '/status', '/status/events']) {
        expect((await fetch(service.address + path)).status, path).toBe(404)
      }
    }
    const products = await fetch(`${await adminAddress(shop().service)}/products/`)
    expect(products.status).toBe(404)
  })

  test('tells whether the service lives and is ready, and takes only GET and HEAD', async () => {
    const address = await adminAddress(shop().service)
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      expect((await fetch(address + path)).status, path).toBe(200)
      const head = await fetch(address + path, { method: 'HEAD' })
      expect([head.status, await head.text()], path).toEqual([200, ''])
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const refused = await fetch(address + path, { method })
        expect([refused.status, refused.headers.get('Allow')], `${method} ${path}`).toEqual([405, 'GET, HEAD'])
      }
    }
    const { headers } = await fetch(`${address}/metrics`)
    expect(headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(address).toContain('http://127.0.0.1:')
  })

  test('answers for addresses, localhost and the names in ADMIN_ALLOWED_HOSTS only', async () => {
    const address = await adminAddress(shop().service)
    const statusFor = async (Host: string) => (await fetch(`${address}/metrics`, { headers: { Host } })).status
    for (const host of ['127.0.0.1', '10.0.0.1:9464', '[::1]', 'localhost:1', 'metrics.internal:9464']) {
      expect(await statusFor(host), host).toBe(200)
    }
    for (const host of ['evil.example', 'shop.example:9464']) expect(await statusFor(host), host).toBe(421)
  })

  test('answers for the name that it listens on', async () => {
    // To the check, this short form of 127.0.0.1 is a name like any other.
    await using named = await startShopOn(sqlite, { flags: ['--admin-port', '0', '--admin-host', '127.1'] })
    const address = await adminAddress(named.service)
    const statusFor = async (Host: string) => (await fetch(`${address}/metrics`, { headers: { Host } })).status
    expect(await statusFor('127.1:9464')).toBe(200)
    expect(await statusFor('127.2:9464')).toBe(421)
  })

  test('requests of operators do not count', async () => {
    const counted = await counting(shop().service)
    await scrape(shop().service)
    expect((await counted())(REQUESTS)).toBe(0)
  })

  test('connections of clients are counted while they are open', async () => {
    if (process.platform !== 'linux') return
    // Its own service, as clients of other tests may keep their connections for a while.
    await using shop = await startShopOn(sqlite, { flags: WITH_METRICS })
    const { hostname, port } = new URL(shop.service.address)
    const connections = async () => (await scrape(shop.service)).value('stockroom_http_connections')
    const before = await connections()
    const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } })
    await until(async () => (await connections()) === before + 1)
    socket.end()
    await until(async () => (await connections()) === before)
  })
})

test('stockroom_ready is 1 while the database works, and a database that hangs does not make /metrics hang', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using proxy = await openTcpProxy(Number(new URL(database.url).port))
  await using service = await startService(proxy.url(database.name), { flags: WITH_METRICS })
  const ready = async () => (await scrape(service)).value('stockroom_ready')
  await until(async () => (await ready()) === 1)
  proxy.freeze()
  await until(async () => {
    const asked = performance.now()
    const value = await ready()
    // A scrape's own time limit is 10 s, and a statement's 6 s.
    expect(performance.now() - asked).toBeLessThan(5_000)
    return value === 0
  })
  proxy.thaw()
  await until(async () => (await ready()) === 1)
})

test('stockroom_ready is 0 while the file of the database is gone, with one process and with several', async () => {
  for (const workers of process.platform === 'linux' ? ['1', '2'] : ['1']) {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    await using service = await startService(`sqlite:${file}`, { flags: [...WITH_METRICS, '--workers', workers] })
    const ready = async () => (await scrape(service)).value('stockroom_ready')
    await until(async () => (await ready()) === 1)
    renameSync(file, `${file}.away`)
    await until(async () => (await ready()) === 0)
  }
})

test.skipIf(process.platform !== 'linux')(
  'the connections are listed once for all who read the metrics at a time',
  async () => {
    await using shop = await startShopOn(sqlite, { flags: WITH_METRICS })
    const { processId, address } = shop.service
    const bytesRead = () => Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${processId}/io`, 'utf8'))?.[1])
    const readers = 50
    const url = `${await adminAddress(shop.service)}/metrics`
    // So that the list takes most of what is read.
    const { hostname, port } = new URL(address)
    const clients = await Promise.all(Array.from({ length: 200 }, () => connected(hostname, Number(port))))
    const readBy = async (number: number) => {
      const before = bytesRead()
      const answers = await Promise.all(Array.from({ length: number }, () => fetch(url)))
      expect((await Promise.all(answers.map(answer => answer.text()))).every(text => text.includes(REQUESTS))).toBe(
        true,
      )
      return bytesRead() - before
    }
    const byOne = await readBy(1)
    expect(byOne).toBeGreaterThan(20_000)
    expect(await readBy(readers)).toBeLessThan((readers / 2) * byOne)
    for (const client of clients) client.destroy()
  },
)

async function connected(host: string, port: number): Promise<Socket> {
  const socket = connect(port, host)
  await once(socket, 'connect')
  return socket
}

/** The complaints that `promtool check metrics` would make. */
function lint({ name, kind, help, samples }: ScrapedFamily): string[] {
  const complaints: string[] = []
  if (!/^(stockroom|process)_[a-z0-9]+(_[a-z0-9]+)*$/.test(name)) complaints.push(`${name} is no name of ours`)
  if (!/^[A-Z].*\.$/.test(help)) complaints.push(`the help of ${name} is no sentence`)
  if ((kind === 'counter') !== name.endsWith('_total')) complaints.push(`${name} is a ${kind}`)
  if (/_(milli|micro|nano)?(seconds?|s|ms|bytes?|kb|mb)_/.test(name) && !/_(bytes|seconds)(_total)?$/.test(name)) {
    complaints.push(`the unit of ${name} is not at its end`)
  }
  if (/_(count|sum|bucket|info_total)$/.test(name)) complaints.push(`${name} ends like a part of a histogram`)
  for (const { labels } of samples) {
    for (const label of Object.keys(labels)) {
      if (!/^[a-z]+(_[a-z]+)*$/.test(label)) complaints.push(`${name} has the label ${label}`)
      if (label === 'le' && kind !== 'histogram') complaints.push(`${name} has the label le`)
    }
  }
  if (kind === 'histogram') complaints.push(...brokenHistograms(name, samples))
  const keys = samples.map(({ name, labels }) => name + JSON.stringify(Object.entries(labels).toSorted()))
  if (new Set(keys).size < keys.length) complaints.push(`${name} has a sample twice`)
  return complaints
}

/** Buckets must grow, and the last one is the count. */
function brokenHistograms(name: string, samples: readonly ScrapedSample[]): string[] {
  const byLabels = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => JSON.stringify(labels))
  return [...byLabels].flatMap(([labels, own]) => {
    const buckets = own.filter(sample => sample.name === `${name}_bucket`)
    const grows = buckets.every(({ value }, place) => place === 0 || value >= (buckets[place - 1]?.value ?? 0))
    const count = own.find(sample => sample.name === `${name}_count`)?.value
    const last = buckets.at(-1)
    return grows && last?.labels.le === '+Inf' && last.value === count ? [] : [`${name}${labels} is no histogram`]
  })
}

test.skipIf(citus === null)(
  'reads on Citus count by their table and by whether they ask one shard or several',
  async () => {
    if (citus === null) throw new Error('there is no cluster')
    await using shop = await startShopOn(citus, { flags: WITH_METRICS })
    const { api, service } = shop
    const id = await api.create('/products/', sample.product)
    const countOf = async (labels: Readonly<Record<string, string>>) =>
      (await scrape(service)).value('stockroom_citus_reads_total', labels)
    const [one, several] = [
      { table: 'products', shards: 'one' },
      { table: 'products', shards: 'several' },
    ]
    const before = { one: await countOf(one), several: await countOf(several) }
    await api.get(`/products/${id}`)
    await api.get(`/products/${id}`)
    expect(await countOf(one)).toBe(before.one + 2)
    expect(await countOf(several)).toBe(before.several)
    await api.get('/products/')
    expect(await countOf(several)).toBeGreaterThan(before.several)

    // The node that has created a review knows its shard.
    const reviewId = await api.create('/reviews/', sample.review(id, await api.create('/users/', sample.user)))
    const reviews = { table: 'reviews', shards: 'several' }
    const asked = await countOf(reviews)
    await api.get(`/reviews/${reviewId}`)
    expect(await countOf({ table: 'reviews', shards: 'one' })).toBe(1)
    expect(await countOf(reviews)).toBe(asked)
  },
)
