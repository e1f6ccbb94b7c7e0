import { beforeAll, expect, test } from 'bun:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

const DECODERS: Readonly<Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array>> = {
  zstd: bytes => Bun.zstdDecompressSync(bytes),
  br: bytes => brotliDecompressSync(bytes),
  gzip: bytes => gunzipSync(bytes),
}

onEachEngine('compression', api => {
  const LIST = '/products/?limit=50'

  beforeAll(async () => {
    const description = 'A kettle of enamelled steel, for gas and for induction. '.repeat(4)
    for (let count = 0; count < 30; count += 1) await api.create('/products/', { ...sample.product, description })
  })

  /** The response as it was sent. */
  async function sent(path: string, accepted: string | null, method = 'GET') {
    const headers = accepted === null ? { 'Accept-Encoding': '' } : { 'Accept-Encoding': accepted }
    const response = await fetch(api.address() + path, { method, headers, decompress: false })
    return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
  }

  test('a long response is compressed as the client accepts it, and is the same when it is decompressed', async () => {
    const plain = await sent(LIST, null)
    expect(plain.headers.get('Content-Encoding')).toBeNull()
    expect(plain.headers.get('Vary')).toBe('Accept, Accept-Encoding')
    for (const [coding, decode] of Object.entries(DECODERS)) {
      // The second one comes from the cache, where there is one.
      for (const time of ['first', 'second']) {
        const { headers, bytes } = await sent(LIST, coding)
        expect(headers.get('Content-Encoding'), `${coding}, ${time}`).toBe(coding)
        expect(headers.get('Vary'), coding).toBe('Accept, Accept-Encoding')
        expect(bytes.length, coding).toBeLessThan(plain.bytes.length / 3)
        expect(decode(bytes), coding).toEqual(plain.bytes)
      }
    }
  })

  test('of several codings the preferred one is sent, and none that the client refuses', async () => {
    for (const [accepted, coding] of [
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['zstd;q=0.1, gzip', 'gzip'],
      ['*', 'zstd'],
      ['gzip;q=0', null],
      ['deflate', null],
      ['identity', null],
    ] as const) {
      expect((await sent(LIST, accepted)).headers.get('Content-Encoding'), accepted).toBe(coding)
    }
  })

  test('a short response is never compressed', async () => {
    const { headers } = await sent('/products/1', 'zstd, gzip')
    expect([headers.get('Content-Encoding'), headers.get('Vary')]).toEqual([null, null])
  })

  test('each coding has a tag of its own, and a client that has it is answered 304', async () => {
    const tags = new Set<string>()
    for (const accepted of [null, 'zstd', 'br', 'gzip']) {
      const { headers } = await sent(LIST, accepted)
      const tag = headers.get('ETag') ?? ''
      tags.add(tag)
      const unchanged = await fetch(api.address() + LIST, {
        headers: { 'Accept-Encoding': accepted ?? '', 'If-None-Match': tag },
      })
      expect([unchanged.status, unchanged.headers.get('ETag')], String(accepted)).toEqual([304, tag])
      expect(unchanged.headers.get('Vary'), String(accepted)).toBe('Accept, Accept-Encoding')
    }
    expect(tags.size).toBe(4)
  })

  test('a change shows in a compressed response that was cached', async () => {
    const before = await sent(LIST, 'gzip')
    await api.put('/products/1', { ...sample.product, name: 'Another name' })
    const after = await sent(LIST, 'gzip')
    expect(gunzipSync(after.bytes).toString()).toContain('Another name')
    expect(after.headers.get('ETag')).not.toBe(before.headers.get('ETag'))
  })

  test('HEAD has the headers of the compressed response', async () => {
    const got = await sent(LIST, 'gzip')
    const head = await sent(LIST, 'gzip', 'HEAD')
    for (const name of ['Content-Encoding', 'Vary', 'ETag']) {
      expect(head.headers.get(name), name).toBe(got.headers.get(name))
    }
  })
})
