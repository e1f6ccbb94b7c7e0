import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listOf, priceOf, readOften } from '../../../test/harness/catalog/resources.ts'
import { twoProcesses } from '../../../test/harness/catalog/two-processes.ts'
import { client } from '../../../test/harness/client.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { startShop } from '../../../test/harness/shop.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const CLIENTS = 16
const WRITES_OF_A_CLIENT = 25

/** If a waiting write blocked the event loop for 50 ms at a time, it would give up before all of these are answered. */
const READS = 250

const FLAGS = ['--access-log', 'off']

describe('two processes that serve one database', () => {
  const { one, other } = twoProcesses()

  test('writes through two processes at once all succeed, and both show them', async () => {
    const ids = await Promise.all(
      Array.from({ length: CLIENTS }, async (_, place) => {
        const api = place % 2 === 0 ? one : other
        const own: number[] = []
        for (let made = 0; made < WRITES_OF_A_CLIENT; made += 1) {
          own.push(await api.create('/products/', { ...sample.product, price: place * 1_000 + made + 1 }))
        }
        return own
      }),
    )
    const all = ids.flat()
    expect(new Set(all).size).toBe(CLIENTS * WRITES_OF_A_CLIENT)
    for (const api of [one, other]) {
      const shown = new Map((await listOf(api, '/products/?limit=1000000')).map(item => [item.id, item]))
      for (const [place, own] of ids.entries()) {
        for (const [made, id] of own.entries()) {
          expect<unknown>(shown.get(id)).toEqual({
            id,
            ...sample.product,
            price: place * 1_000 + made + 1,
            reviews: [],
          })
        }
      }
    }
  })

  test('each of two processes shows at once what the other acknowledged, under load on both', async () => {
    const loaded = { goesOn: true }
    const load = [one, other].flatMap(api =>
      Array.from({ length: 2 }, async () => {
        while (loaded.goesOn) {
          await Promise.all([api.get('/products/?limit=20'), api.get('/categories/'), api.get('/products/1')])
        }
      }),
    )
    try {
      const stale = await Promise.all(
        Array.from({ length: CLIENTS }, async (_, place) => {
          const [writer, reader] = place % 2 === 0 ? [one, other] : [other, one]
          const id = await writer.create('/products/', sample.product)
          const missed: string[] = []
          for (let price = 1; price <= WRITES_OF_A_CLIENT; price += 1) {
            expect((await writer.put(`/products/${id}`, { ...sample.product, price })).status).toBe(200)
            const { body } = await reader.get(`/products/${id}`)
            if (priceOf(body) !== price) missed.push(`wrote ${price} and read ${JSON.stringify(body)}`)
          }
          return missed
        }),
      )
      expect(stale.flat()).toEqual([])
    } finally {
      loaded.goesOn = false
      await Promise.all(load)
    }
  })

  test('two processes that update one product at once leave one update whole, and both show the same', async () => {
    const product = await one.create('/products/', sample.product)
    const bodyOf = (number: number) => ({ name: `Version ${number}`, description: `${number}`, price: number })
    await Promise.all(
      Array.from({ length: 100 }, async (_, place) => {
        const answer = await (place % 2 === 0 ? one : other).put(`/products/${product}`, bodyOf(place + 1))
        expect(answer.body).toEqual({ id: product, ...bodyOf(place + 1), reviews: [] })
      }),
    )
    const shown = (await one.get(`/products/${product}`)).body
    expect(shown).toEqual({ id: product, ...bodyOf(priceOf(shown)), reviews: [] })
    expect((await other.get(`/products/${product}`)).body).toEqual(shown)
  })

  test('of two processes that delete one product at once, exactly one finds it', async () => {
    const products = await Promise.all(Array.from({ length: 20 }, () => one.create('/products/', sample.product)))
    for (const product of products) {
      const answers = await Promise.all([one, other].map(api => api.delete(`/products/${product}`)))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    }
  })
})

test('what is seeded beside a running service is shown at once', async () => {
  await using shop = await startShop({ flags: FLAGS })
  const { api, url: database } = shop
  await readOften(api, ['/products/', '/categories/', '/products/1'])
  expect(await run(['seed', '--database', database])).toMatchObject({ status: 0 })
  expect(await listOf(api, '/products/?limit=1000')).toHaveLength(500)
  expect(await listOf(api, '/categories/')).toHaveLength(20)
  expect((await api.get('/products/1')).status).toBe(200)
})

test('services that start at once on a missing database create it once, and all serve it', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await using open = new AsyncDisposableStack()
  const started = await Promise.all(
    Array.from({ length: 4 }, async () => open.use(await startService(database, { flags: FLAGS }))),
  )
  const apis = started.map(service => client(() => service.address))
  const ids = await Promise.all(apis.map(api => api.create('/products/', sample.product)))
  expect(ids.sort()).toEqual([1, 2, 3, 4])
  for (const api of apis) expect(await listOf(api, '/products/')).toHaveLength(4)
})

test('a service that starts while another process changes the same new file waits for it, and says so', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  using other = new Database(file, { create: true })
  other.run('BEGIN IMMEDIATE')
  const starting = startWithErrorsIn(folder.path, file)
  await expectToldOfWait(folder.path)
  other.run('ROLLBACK')
  await using service = await starting
  expect(await client(() => service.address).create('/products/', sample.product)).toBe(1)
})

test('a service that starts on a file which an idle process keeps locked says so, and starts when that one has ended', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = ['--database', `sqlite:${file}`]
  expect(await run(['seed', ...database])).toMatchObject({ status: 0 })
  using idle = new Database(file)
  idle.run('PRAGMA locking_mode = EXCLUSIVE')
  idle.run('BEGIN EXCLUSIVE')
  idle.run('COMMIT')
  const starting = startWithErrorsIn(folder.path, file)
  await expectToldOfWait(folder.path)
  idle.close()
  await using service = await starting
  expect((await fetch(`${service.address}/products/1`)).status).toBe(200)
})

test('an import that waits for the write lock of another process says so, and goes on', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const importing = ['import', '--database', `sqlite:${file}`, 'products.ndjson']
  await Bun.write(join(folder.path, 'products.ndjson'), `${JSON.stringify(sample.product)}\n`)
  expect(await run(importing, { folder: folder.path })).toMatchObject({ status: 0 })
  using other = new Database(file)
  other.run('BEGIN IMMEDIATE')
  const again = run(importing, { folder: folder.path, through: withErrorsIn(join(folder.path, 'errors')) })
  await expectToldOfWait(folder.path)
  other.run('ROLLBACK')
  expect(await again).toMatchObject({ status: 0 })
})

test('services and commands start while another process holds the write lock, as a long import does, and a command that waits names that one alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const database = ['--database', `sqlite:${file}`]
  expect(await run(['seed', ...database])).toMatchObject({ status: 0 })
  using importing = new Database(file)
  importing.run('BEGIN IMMEDIATE')
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  expect(
    await listOf(
      client(() => service.address),
      '/categories/',
    ),
  ).toHaveLength(20)
  expect(await run(['backup', ...database, join(folder.path, 'copy.db')])).toMatchObject({ status: 0 })
  expect(await run(['export', ...database, join(folder.path, 'shop')])).toMatchObject({ status: 0 })
  const waiting = run(['key', 'create', ...database, '--scope', 'read', 'till'], {
    through: withErrorsIn(join(folder.path, 'errors')),
  })
  await expectToldOfWait(folder.path)
  expect(readFileSync(join(folder.path, 'errors'), 'utf8')).not.toContain(`process ${service.processId} (`)
  importing.run('ROLLBACK')
  expect(await waiting).toMatchObject({ status: 0 })
})

test('when one of two services is stopped or killed, the other goes on', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await using staying = await startService(database, { flags: FLAGS })
  const api = client(() => staying.address)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    await using leaving = await startService(database, { flags: FLAGS })
    const id = await client(() => leaving.address).create('/products/', sample.product)
    await readOften(api, [`/products/${id}`])
    expect(await leaving.stop(signal)).toBe(signal === 'SIGTERM' ? 0 : null)
    expect((await api.get(`/products/${id}`)).status).toBe(200)
    expect((await api.put(`/products/${id}`, { ...sample.product, price: 5 })).status).toBe(200)
    expect(priceOf((await api.get(`/products/${id}`)).body)).toBe(5)
  }
})

test('a service goes on reading while another process holds the write lock, and writes afterwards', async () => {
  await using shop = await startShop({ flags: FLAGS })
  const { api, file } = shop
  const id = await api.create('/products/', sample.product)
  using database = new Database(file)
  database.run('BEGIN IMMEDIATE')
  database.run('UPDATE products SET price = 99')
  const writes = Promise.all(Array.from({ length: 10 }, () => api.create('/products/', sample.product)))
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ price: sample.product.price })
  expect(await listOf(api, '/products/')).toHaveLength(1)
  database.run('COMMIT')
  expect(new Set(await writes).size).toBe(10)
  expect((await api.get(`/products/${id}`)).body).toMatchObject({ price: 99 })
})

test('writes that wait for the lock of another process do not make reads wait', async () => {
  await using shop = await startShop({ flags: FLAGS })
  const { api, file } = shop
  const id = await api.create('/products/', sample.product)
  using database = new Database(file)
  database.run('BEGIN IMMEDIATE')
  const write = api.create('/products/', sample.product)
  for (let read = 0; read < READS; read += 1) {
    expect((await api.get(`/products/${id}`)).body).toMatchObject({ id })
  }
  database.run('COMMIT')
  expect(await write).toBe(id + 1)
})

function startWithErrorsIn(folder: string, file: string) {
  return startService(`sqlite:${file}`, { flags: FLAGS, through: withErrorsIn(join(folder, 'errors')) })
}

/** So that they can be read before the service is ready. */
function withErrorsIn(file: string): string[] {
  return ['bash', '-c', `exec "$@" 2> '${file}'`, 'bash']
}

/** The lock is one of this process. */
async function expectToldOfWait(folder: string): Promise<void> {
  const errors = join(folder, 'errors')
  await until(() => existsSync(errors) && readFileSync(errors, 'utf8').includes('is locked by'))
  const holder = process.platform === 'linux' ? `process ${process.pid} \\(` : 'another process'
  expect(readFileSync(errors, 'utf8')).toMatch(new RegExp(`shop\\.db is locked by ${holder}`))
}
