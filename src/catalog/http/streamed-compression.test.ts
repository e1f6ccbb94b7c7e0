import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { createMany } from '../../../test/harness/catalog/created.ts'
import { client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { scrape, WITH_METRICS } from '../../../test/harness/metrics.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const DECODERS: Readonly<Record<string, (bytes: Uint8Array<ArrayBuffer>) => Buffer>> = {
  zstd: bytes => zstdDecompressSync(bytes),
  br: bytes => brotliDecompressSync(bytes),
  gzip: bytes => gunzipSync(bytes),
}
const CODINGS = Object.keys(DECODERS)

const NDJSON = 'application/x-ndjson'
const EVERYTHING = '/products/?limit=1000000000'

/** Longer than what is answered in one piece. */
const HEAVY_PRODUCT = { ...sample.product, description: `“Größe”, ${'x'.repeat(400_000)}` }

/** Streamed responses that are compressed at once. */
const COMPRESSED_MAX = 16

/** The last bytes of a whole response without a `Content-Length`. */
const LAST_PIECE = '0\r\n\r\n'

interface Sent {
  readonly accepted: string
  readonly type?: string
  readonly method?: string
}

/** The response as it was sent. */
async function sent(address: string, path: string, { accepted, type = 'application/json', method = 'GET' }: Sent) {
  const headers = { 'Accept-Encoding': accepted, Accept: type }
  const response = await fetch(address + path, { method, headers, decompress: false })
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
}

onOneEngine('compression of streamed responses', api => {
  const LISTS = [EVERYTHING, '/products/?limit=450', '/reviews/products/1?limit=1000000000']
  let heavyId = 0

  beforeAll(async () => {
    const products = Array.from({ length: 500 }, (_, index) => ({
      ...sample.product,
      description: `Kettle number ${index}, of enamelled steel, for gas and for induction. `.repeat(1 + (index % 9)),
    }))
    const productIds = await createMany(api, '/products/', products)
    const userId = await api.create('/users/', sample.user)
    const reviews = Array.from({ length: 300 }, (_, index) => ({
      ...sample.review(productIds[0] ?? 0, userId),
      rating: 1 + (index % 5),
    }))
    await createMany(api, '/reviews/', reviews)
    heavyId = await api.create('/products/', HEAVY_PRODUCT)
  })

  test('a long list is compressed as the client accepts it, and is the same when it is decompressed', async () => {
    for (const path of LISTS) {
      for (const type of ['application/json', NDJSON]) {
        const plain = await sent(api.address(), path, { accepted: '', type })
        expect(plain.headers.get('Content-Encoding'), path).toBeNull()
        expect(plain.headers.get('Vary'), path).toBe('Accept, Accept-Encoding')
        expect(plain.bytes.length, path).toBeGreaterThan(20_000)
        for (const [coding, decode] of Object.entries(DECODERS)) {
          const { headers, bytes } = await sent(api.address(), path, { accepted: coding, type })
          expect(headers.get('Content-Encoding'), `${path} ${coding}`).toBe(coding)
          expect(headers.get('Vary'), `${path} ${coding}`).toBe('Accept, Accept-Encoding')
          expect(headers.get('Content-Type'), `${path} ${coding}`).toBe(type)
          expect(headers.get('Link'), `${path} ${coding}`).toBe(plain.headers.get('Link'))
          expect(headers.get('ETag'), `${path} ${coding}`).toBeNull()
          expect(bytes.length, `${path} ${coding}`).toBeLessThan(plain.bytes.length / 3)
          expect(decode(bytes).equals(plain.bytes), `${path} ${coding}`).toBe(true)
        }
      }
    }
  })

  test('of several codings the preferred one is sent, and none that the client refuses', async () => {
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip, deflate, br', 'br'],
      ['zstd;q=0.1, gzip', 'gzip'],
      ['gzip;q=0', null],
      ['deflate', null],
    ] as const) {
      const { headers } = await sent(api.address(), EVERYTHING, { accepted, method: 'HEAD' })
      expect(headers.get('Content-Encoding'), accepted).toBe(coding)
      expect(headers.get('Vary'), accepted).toBe('Accept, Accept-Encoding')
    }
  })

  test('a short list is not compressed, though NDJSON is streamed', async () => {
    for (const path of ['/products/?skip=1&limit=3', '/products/?after_id=1000000', '/categories/?limit=1000000000']) {
      const { headers } = await sent(api.address(), path, { accepted: 'zstd', type: NDJSON })
      expect([headers.get('Content-Encoding'), headers.get('Vary')], path).toEqual([null, 'Accept'])
    }
    const { headers, bytes } = await sent(api.address(), '/products/?limit=100', { accepted: 'zstd', type: NDJSON })
    expect([headers.get('Content-Encoding'), headers.get('Vary')]).toEqual(['zstd', 'Accept, Accept-Encoding'])
    expect(zstdDecompressSync(bytes).toString().split('\n')).toHaveLength(101)
  })

  test('HEAD has the headers of GET', async () => {
    for (const accepted of ['', ...CODINGS]) {
      for (const path of [EVERYTHING, `/products/${heavyId}`]) {
        const got = await sent(api.address(), path, { accepted })
        const head = await sent(api.address(), path, { accepted, method: 'HEAD' })
        expect(head.status, path).toBe(200)
        expect(head.bytes, path).toHaveLength(0)
        for (const name of ['Content-Type', 'Content-Encoding', 'Vary', 'Link', 'Content-Length']) {
          expect(head.headers.get(name), `${path} ${accepted} ${name}`).toBe(got.headers.get(name))
        }
      }
    }
  })

  test('a single long resource is compressed too, with a tag for each coding that an update may expect', async () => {
    const path = `/products/${heavyId}`
    for (const [coding, decode] of Object.entries(DECODERS)) {
      const plain = await sent(api.address(), path, { accepted: '' })
      const { headers, bytes } = await sent(api.address(), path, { accepted: coding })
      expect([headers.get('Content-Encoding'), headers.get('Vary')], coding).toEqual([coding, 'Accept-Encoding'])
      expect(decode(bytes).equals(plain.bytes), coding).toBe(true)
      const tag = headers.get('ETag') ?? ''
      expect(tag, coding).toEndWith(`-${coding}"`)
      const updated = await fetch(api.address() + path, {
        method: 'PUT',
        body: JSON.stringify(HEAVY_PRODUCT),
        headers: { 'Content-Type': 'application/json', 'If-Match': tag, 'Accept-Encoding': coding },
        decompress: false,
      })
      expect(updated.status, coding).toBe(200)
      expect([updated.headers.get('Content-Encoding'), updated.headers.get('Vary')], coding).toEqual([null, null])
    }
  })
})

describe('of a list that is far longer than what a connection buffers', () => {
  let shop: HeavyShop
  beforeAll(async () => {
    shop = await startHeavyShop()
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('clients that leave amid it free its memory at once, and others are answered meanwhile', async () => {
    for (const coding of [...CODINGS, 'identity']) {
      const readers = await Promise.all(Array.from({ length: 4 }, () => startReading(shop.service, coding)))
      // More than the network buffers, so the stream is not over: it began before the whole list was read.
      expect(await heldBytes(shop.service), coding).toBeGreaterThan(0)
      expect((await fetch(`${shop.service.address}/products/?limit=1`)).status, coding).toBe(200)
      for (const reader of readers) reader.leave()
      await until(async () => (await heldBytes(shop.service)) === 0)
    }
    const { bytes } = await sent(shop.service.address, EVERYTHING, { accepted: 'zstd' })
    expect(JSON.parse(zstdDecompressSync(bytes).toString())).toHaveLength(HEAVY_PRODUCTS)
  })

  test('many slow readers stay within the memory that they share: beyond a number of them, it is not compressed', async () => {
    const readers = []
    for (let count = 0; count < COMPRESSED_MAX + 4; count += 1) {
      readers.push(await startReading(shop.service, 'br, zstd'))
    }
    const codings = readers.map(reader => reader.header('Content-Encoding'))
    expect(codings).toEqual([...Array.from({ length: COMPRESSED_MAX }, () => 'zstd'), null, null, null, null])
    for (const reader of readers) expect(reader.header('Vary')).toBe('Accept, Accept-Encoding')
    const { value } = await scrape(shop.service)
    const compressors = { budget: 'stream_compressors' }
    const max = value('stockroom_memory_budget_max_bytes', compressors)
    expect([value('stockroom_memory_budget_used_bytes', compressors), max]).toEqual([max, COMPRESSED_MAX * 4_194_304])
    const short = await sent(shop.service.address, '/products/?limit=1', { accepted: 'zstd' })
    expect(short.headers.get('Content-Encoding')).toBe('zstd')
    const coding = async () =>
      (await sent(shop.service.address, EVERYTHING, { accepted: 'gzip', method: 'HEAD' })).headers.get(
        'Content-Encoding',
      )
    expect(await coding()).toBeNull()
    readers[0]?.leave()
    await until(async () => (await coding()) === 'gzip')
    for (const reader of readers) reader.leave()
    await until(async () => (await heldBytes(shop.service)) === 0)
  })
})

test('a failure amid a compressed list cuts the connection, so the list does not look whole', async () => {
  await using shop = await startHeavyShop()
  const readers = await Promise.all([...CODINGS, 'identity'].map(coding => startReading(shop.service, coding)))
  damageLastPages(shop.file)
  for (const reader of readers) {
    const text = await reader.whole()
    const coding = reader.header('Content-Encoding') ?? 'identity'
    expect(text, coding).not.toEndWith(LAST_PIECE)
    expect(text.length, coding).toBeGreaterThan(HEAVY_CHARACTERS)
  }
  await until(async () => (await heldBytes(shop.service)) === 0)
})

/** Those of its last products. */
function damageLastPages(file: string): void {
  const descriptor = openSync(file, 'r+')
  const { size } = statSync(file)
  const half = Math.floor(size / 2)
  writeSync(descriptor, new Uint8Array(half).fill(0xa5), 0, half, size - half)
  closeSync(descriptor)
}

/** Of text that does not compress well: far more than a connection buffers. */
const HEAVY_PRODUCTS = 200
const HEAVY_CHARACTERS = 100_000

interface HeavyShop extends AsyncDisposable {
  readonly service: Service
  readonly file: string
}

async function startHeavyShop(): Promise<HeavyShop> {
  const database = await sqlite.freshDatabase()
  const service = await startService(database.url, { flags: WITH_METRICS })
  const file = database.url.slice('sqlite:'.length)
  expect((await client(() => service.address).get('/products/')).body).toEqual([])
  using products = new Database(file)
  const insert = products.query('INSERT INTO products (name, price, description) VALUES (?, 1, ?)')
  products.transaction(() => {
    for (let count = 0; count < HEAVY_PRODUCTS; count += 1) {
      insert.run(`Product ${count}`, randomBytes((HEAVY_CHARACTERS * 3) / 4).toString('base64'))
    }
  })()
  products.run('PRAGMA wal_checkpoint(TRUNCATE)')
  return {
    service,
    file,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** The memory that all streamed responses hold. */
async function heldBytes(service: Service): Promise<number> {
  const { value } = await scrape(service)
  const used = (budget: string) => value('stockroom_memory_budget_used_bytes', { budget })
  return used('streamed_responses') + used('stream_compressors')
}

/** Requests everything, and reads its headers and little more. */
async function startReading({ address }: Service, accepted: string) {
  const { hostname, port, host } = new URL(address)
  const begun = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const texts: string[] = []
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data: (connection, bytes) => {
        texts.push(bytes.toString('latin1'))
        if (texts.length === 1) connection.pause()
        begun.resolve()
      },
      close: () => closed.resolve(),
    },
  })
  socket.write(`GET ${EVERYTHING} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: ${accepted}\r\n\r\n`)
  await begun.promise
  return {
    /** The value of a header, or `null`. */
    header: (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(texts[0] ?? '')?.[1]?.trim() ?? null,
    /** Reads on until the connection is closed. */
    whole: async () => {
      socket.resume()
      await closed.promise
      return texts.join('')
    },
    leave: () => socket.terminate(),
  }
}
