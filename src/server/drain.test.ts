import { Database } from 'bun:sqlite'
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { idOf, listOf } from '../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../test/harness/client.ts'
import { sample } from '../../test/harness/samples.ts'
import { startService } from '../../test/harness/service.ts'
import { type Shop, startShop } from '../../test/harness/shop.ts'
import { until } from '../../test/harness/until.ts'

/** A service may take some seconds to stop. */
setDefaultTimeout(120_000)

/** Far more than a connection's buffers hold, so the list is still being written while it is read. */
const HEAVY_PRODUCTS = 20
const HEAVY_DESCRIPTION = 'x'.repeat(900_000)

/** Events of 450 bytes, more than the kernel holds for a connection that nobody reads. */
const MANY_CHANGES = 12_000
/** A character takes six bytes in JSON. */
const LONG_NAME = '\u0001'.repeat(50)

test('an idle service ends with status 0 on SIGTERM', async () => {
  await using shop = await startShop()
  expect(await shop.service.stop('SIGTERM')).toBe(0)
})

test.skipIf(process.platform !== 'linux')('a service stops in order on SIGHUP, but not under nohup', async () => {
  await using shop = await startShop()
  await shop.api.create('/products/', sample.product)
  expect(await shop.service.stop('SIGHUP')).toBe(0)
  expect(logSize(shop.file)).toBe(0)
  await using lasting = await startShop({ through: ['nohup'] })
  process.kill(lasting.service.processId, 'SIGHUP')
  await lasting.api.create('/products/', sample.product)
  expect(await lasting.service.stop()).toBe(0)
})

test('an idle service ends with status 0 on SIGINT', async () => {
  await using shop = await startShop()
  expect(await shop.service.stop('SIGINT')).toBe(0)
})

test('after a stop, everything written is in the database file itself', async () => {
  await using shop = await startShop()
  const ids = await Promise.all(Array.from({ length: 200 }, () => shop.api.create('/products/', sample.product)))
  expect(statSync(`${shop.file}-wal`).size).toBeGreaterThan(0)
  expect(await shop.service.stop()).toBe(0)
  expect(logSize(shop.file)).toBe(0)
  await Bun.write(`${shop.file}.copy`, Bun.file(shop.file))
  await using copy = await startService(`sqlite:${shop.file}.copy`)
  const { body } = await client(() => copy.address).get('/products/?limit=1000')
  expect(body).toEqual([...ids].sort((a, b) => a - b).map(id => ({ id, ...sample.product, reviews: [] })))
})

test('a stop lets a long list finish, while new connections are refused', async () => {
  await using shop = await startShop()
  await createHeavyProducts(shop.api)
  const response = await fetch(`${shop.service.address}/products/?limit=1000`)
  const reader = response.body?.getReader()
  const first = await reader?.read()
  const stopped = shop.service.stop('SIGTERM')
  await until(() => isRefused(shop.service.address))
  const decoder = new TextDecoder()
  let text = decoder.decode(first?.value, { stream: true })
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
    text += decoder.decode(read.value, { stream: true })
  }
  expect(JSON.parse(text)).toHaveLength(HEAVY_PRODUCTS)
  expect(await stopped).toBe(0)
  expect(logSize(shop.file)).toBe(0)
})

test('a stop lets a queued write finish, and answers it', async () => {
  await using shop = await startShop()
  using other = new Database(shop.file)
  other.run('BEGIN IMMEDIATE')
  const write = await arrived(shop, postRequest('/products/', sample.product))
  const stopped = shop.service.stop('SIGTERM')
  await until(() => isRefused(shop.service.address))
  other.run('COMMIT')
  const answer = await write.answer
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(await stopped).toBe(0)
  expect(other.query('SELECT name FROM products').all()).toEqual([{ name: sample.product.name }])
})

test('writes of many clients that arrived before a stop are all done, or all told that they are not', async () => {
  await using shop = await startShop()
  const answered: number[] = []
  const writers = Array.from({ length: 32 }, async () => {
    for (;;) {
      const answer = await shop.api.post('/products/', sample.product).catch(() => null)
      if (answer?.status !== 200) return
      answered.push(idOf(answer.body))
    }
  })
  await until(() => answered.length >= 200)
  expect(await shop.service.stop('SIGTERM')).toBe(0)
  await Promise.all(writers)
  await using again = await startService(`sqlite:${shop.file}`)
  const api = client(() => again.address)
  const stored = (await listOf(api, '/products/?limit=1000000')).map(({ id }) => id)
  expect(answered.filter(id => !stored.includes(id))).toEqual([])
})

test('a second signal of either kind changes nothing', async () => {
  await using shop = await startShop()
  using other = new Database(shop.file)
  other.run('BEGIN IMMEDIATE')
  const write = await arrived(shop, postRequest('/products/', sample.product))
  const stopped = shop.service.stop('SIGTERM')
  process.kill(shop.service.processId, 'SIGTERM')
  process.kill(shop.service.processId, 'SIGINT')
  await until(() => isRefused(shop.service.address))
  process.kill(shop.service.processId, 'SIGTERM')
  process.kill(shop.service.processId, 'SIGINT')
  other.run('COMMIT')
  expect(await write.answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(await stopped).toBe(0)
})

test('a stop does not wait for a client that keeps its connection open and asks nothing', async () => {
  await using shop = await startShop()
  using silent = rawConnection(shop.service.address, '')
  using idle = rawConnection(shop.service.address, getRequest('/healthz'))
  await until(() => idle.text().includes('"ok"'))
  expect(silent.text()).toBe('')
  expect(await shop.service.stop()).toBe(0)
})

test('a stop ends the streams of changes, that of the admin page too', async () => {
  await using shop = await startShop()
  const { host } = new URL(shop.service.address)
  const open = ['/events', '/admin/activity/events'].map(path =>
    rawConnection(shop.service.address, getRequest(path).replace('stockroom', host)),
  )
  await Promise.all(open.map(stream => until(() => stream.text().includes('text/event-stream'))))
  await shop.api.create('/products/', sample.product)
  await Promise.all(open.map(stream => until(() => stream.text().includes(sample.product.name))))
  expect(await shop.service.stop()).toBe(0)
  for (const stream of open) {
    // Whole, and not cut when the time of the stop is over.
    await until(() => stream.text().endsWith('\r\n0\r\n\r\n'))
    stream[Symbol.dispose]()
  }
})

/** Each waits for the whole grace, with little to do, so they run at the same time. */
describe('requests that do not end', () => {
  test.concurrent('a stop does not wait forever for a client that never sends the rest of its request', async () => {
    await using shop = await startShop()
    using half = rawConnection(shop.service.address, postRequest('/products/', sample.product).slice(0, -5))
    using headless = rawConnection(shop.service.address, 'GET /products/ HTTP/1.1\r\nHost: x')
    await half.written
    await headless.written
    await allArrived(shop)
    expect(await shop.service.stop()).toBe(0)
    expect(logSize(shop.file)).toBe(0)
  })

  test.concurrent('a stop does not wait forever for a client that never reads its list', async () => {
    await using shop = await startShop()
    await createHeavyProducts(shop.api)
    using stalled = rawConnection(shop.service.address, getRequest('/products/?limit=1000'), { reads: false })
    await stalled.written
    await until(() => shop.service.errors().includes('"GET","path":"/products/","status":200'))
    expect(await shop.service.stop()).toBe(0)
    expect(logSize(shop.file)).toBe(0)
  })

  test.concurrent('a stop does not wait forever for a follower of changes that never reads', async () => {
    await using shop = await startShop()
    using reading = rawConnection(shop.service.address, getRequest('/events'))
    using stalled = rawConnection(shop.service.address, getRequest('/events'), { reads: false })
    await stalled.written
    await until(() => shop.service.errors().split('"GET","path":"/events","status":200').length === 3)
    // Until it is sent no more.
    const changes = { ...sample.product, name: LONG_NAME }
    for (let made = 0; made < MANY_CHANGES; made += 500) {
      await Promise.all(Array.from({ length: 500 }, () => shop.api.create('/products/', changes)))
    }
    await until(() => reading.text().split('event: product.created').length > MANY_CHANGES)
    expect(await shop.service.stop()).toBe(0)
    expect(logSize(shop.file)).toBe(0)
  })

  test.concurrent('a stop does not wait forever for a write that waits for another process, and the write is not done', async () => {
    await using shop = await startShop()
    using other = new Database(shop.file)
    other.run('BEGIN IMMEDIATE')
    const write = await arrived(shop, postRequest('/products/', sample.product))
    expect(await shop.service.stop()).toBe(0)
    expect(await write.answer).not.toMatch(/^HTTP\/1\.1 200 /)
    other.run('COMMIT')
    expect(other.query('SELECT name FROM products').all()).toEqual([])
  })
})

test('a service that was stopped starts again on the same database, with everything written', async () => {
  await using shop = await startShop()
  const id = await shop.api.create('/products/', sample.product)
  expect(await shop.service.stop()).toBe(0)
  await using again = await startService(`sqlite:${shop.file}`)
  const api = client(() => again.address)
  expect((await api.get(`/products/${id}`)).body).toEqual({ id, ...sample.product, reviews: [] })
  expect(await api.create('/products/', sample.product)).toBeGreaterThan(id)
  expect(await again.stop()).toBe(0)
})

async function createHeavyProducts(api: Client): Promise<void> {
  for (let made = 0; made < HEAVY_PRODUCTS; made += 1) {
    await api.create('/products/', { ...sample.product, description: HEAVY_DESCRIPTION })
  }
}

/** The size of the write-ahead log; a missing one counts as empty. */
function logSize(file: string): number {
  return existsSync(`${file}-wal`) ? statSync(`${file}-wal`).size : 0
}

async function isRefused(address: string): Promise<boolean> {
  using connection = rawConnection(address, '')
  return await connection.written.then(
    () => false,
    () => true,
  )
}

/** Sends a request and waits until the service has read it; `answer` is its answer, or as much as came. */
async function arrived(shop: Shop, request: string): Promise<{ readonly answer: Promise<string> }> {
  const connection = rawConnection(shop.service.address, request)
  await connection.written
  await allArrived(shop)
  return { answer: connection.closed.then(() => connection.text()) }
}

/** Waits until the service has read everything sent so far: later requests on other connections are read no earlier. */
async function allArrived(shop: Shop): Promise<void> {
  await shop.api.get('/healthz')
  await shop.api.get('/healthz')
}

interface RawConnection extends Disposable {
  /** Resolves when the text is sent; rejects if the connection fails. */
  readonly written: Promise<void>
  readonly closed: Promise<void>
  readonly text: () => string
}

function rawConnection(address: string, sent: string, { reads = true } = {}): RawConnection {
  const { hostname, port } = new URL(address)
  let text = ''
  const socket: Socket = connect(Number(port), hostname)
  const closed = Promise.withResolvers<void>()
  const written = new Promise<void>((resolve, reject) => {
    socket.on('connect', () => (sent === '' ? resolve() : socket.write(sent, () => resolve())))
    socket.on('error', reject)
  })
  socket.on('close', () => closed.resolve())
  if (reads) {
    socket.on('data', bytes => {
      text += bytes.toString()
    })
  } else {
    socket.pause()
  }
  return { written, closed: closed.promise, text: () => text, [Symbol.dispose]: () => socket.destroy() }
}

function getRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: stockroom\r\n\r\n`
}

function postRequest(path: string, body: unknown): string {
  const text = JSON.stringify(body)
  const headers = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close`
  return `POST ${path} HTTP/1.1\r\nHost: stockroom\r\n${headers}\r\n\r\n${text}`
}
