import { expect, test } from 'bun:test'
import { atRoot, LOOPBACK } from '../../test/harness/loopback.ts'
import { asset } from './asset.ts'
import { listen } from './listen.ts'

const STYLES = 'body { margin: 0 }\n'.repeat(100)

/** The coding in which a stylesheet is sent to a client with this `Accept-Encoding`, after checking what it decodes to. */
async function codingFor(acceptEncoding: string): Promise<string> {
  const styles = asset(STYLES, 'text/css')
  await using server = listen({ ...LOOPBACK, app: atRoot(styles) })
  const response = await fetch(server.address, { headers: { 'Accept-Encoding': acceptEncoding } })
  expect(response.headers.get('Vary')).toBe('Accept-Encoding')
  expect(await response.text()).toBe(STYLES)
  return response.headers.get('Content-Encoding') ?? 'identity'
}

test('an asset is compressed for a client that accepts gzip, by its name or by a star', async () => {
  expect(await codingFor('gzip, deflate, br, zstd')).toBe('gzip')
  expect(await codingFor('GZIP;q=0.1')).toBe('gzip')
  expect(await codingFor('*')).toBe('gzip')
})

test('an asset that the client has is not sent again', async () => {
  await using server = listen({ ...LOOPBACK, app: atRoot(asset(STYLES, 'text/css')) })
  const tag = (await fetch(server.address)).headers.get('ETag') ?? ''
  const statusFor = async (known: string) =>
    (await fetch(server.address, { headers: { 'If-None-Match': known } })).status
  expect([await statusFor(tag), await statusFor(`"other", ${tag}`), await statusFor('*')]).toEqual([304, 304, 304])
  expect(await statusFor('"other"')).toBe(200)
})

test('an asset is not compressed for a client that refuses gzip or prefers identity', async () => {
  expect(await codingFor('gzip;q=0')).toBe('identity')
  expect(await codingFor('gzip;q=0.0, br')).toBe('identity')
  expect(await codingFor('gzip;q=0.5, identity')).toBe('identity')
  expect(await codingFor('br')).toBe('identity')
  expect(await codingFor('')).toBe('identity')
})
