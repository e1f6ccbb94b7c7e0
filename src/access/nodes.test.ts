import { expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { bearer, revokeKey, startKeyed, startKeyedShop } from '../../test/harness/catalog/keyed-shop.ts'
import { client } from '../../test/harness/client.ts'
import { withEachEngine } from '../../test/harness/contract.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { sample } from '../../test/harness/samples.ts'
import { storeKey } from '../../test/harness/stored-keys.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** The documented time after which every process refuses a revoked key. */
const REVOKED_MS = 1_000

const REQUEST_EVERY_MS = 50

withEachEngine('keys of several processes', engine => {
  test('each of two processes accepts a new key at once, and refuses a revoked one within a second', async () => {
    await using shop = await startKeyedShop(engine)
    await using other = await startKeyed(shop.url)
    const key = await storeKey(shop.url, 'till', 'write')
    const apis = [shop.service, other].map(({ address }) => client(() => address, bearer(key)))
    const statuses = () => Promise.all(apis.map(async api => (await api.get('/products/')).status))
    expect(await statuses()).toEqual([200, 200])
    await revokeKey(shop.url, 'till')
    // Requests in the meantime do not keep it valid.
    for (let waitedMs = 0; waitedMs < REVOKED_MS; waitedMs += REQUEST_EVERY_MS) {
      await statuses()
      await Bun.sleep(REQUEST_EVERY_MS)
    }
    expect(await statuses()).toEqual([401, 401])
  })

  test('a new key with the name of a revoked one is another key, with its own scope', async () => {
    await using shop = await startKeyedShop(engine)
    const first = client(() => shop.service.address, bearer(await storeKey(shop.url, 'till', 'admin')))
    expect((await first.post('/products/', sample.product)).status).toBe(200)
    await revokeKey(shop.url, 'till')
    const second = client(() => shop.service.address, bearer(await storeKey(shop.url, 'till', 'read')))
    expect((await second.post('/products/', sample.product)).status).toBe(403)
    await until(async () => (await first.get('/products/')).status === 401)
    expect((await second.get('/products/')).status).toBe(200)
  })
})

test('every worker accepts a new key at once, and refuses a revoked one', async () => {
  await using shop = await startKeyedShop(sqlite, ['--workers', '2'])
  const key = await storeKey(shop.url, 'till', 'read')
  // Each request on a connection of its own, so that both workers get some.
  const statuses = async () => {
    const headers = { ...bearer(key), Connection: 'close' }
    const answers = Array.from({ length: 40 }, () => shop.api.without.get('/products/', headers))
    return new Set((await Promise.all(answers)).map(({ status }) => status))
  }
  expect(await statuses()).toEqual(new Set([200]))
  await revokeKey(shop.url, 'till')
  await Bun.sleep(REVOKED_MS)
  expect(await statuses()).toEqual(new Set([401]))
})

test('while the keys cannot be read, every request with a key gets 503, and one without a key still 401', async () => {
  await using shop = await startKeyedShop(sqlite, ['--public-reads', 'on'])
  expect((await shop.api.read.get('/products/')).status).toBe(200)
  const file = shop.url.slice('sqlite:'.length)
  renameSync(file, `${file}.away`)
  await until(async () => (await shop.api.read.get('/products/')).status === 503)
  expect((await shop.api.admin.get('/users/')).status).toBe(503)
  expect((await shop.api.without.get('/products/', bearer(`stockroom_${'x'.repeat(43)}`))).status).toBe(503)
  expect((await shop.api.without.get('/users/')).status).toBe(401)
  renameSync(`${file}.away`, file)
  await until(async () => (await shop.api.read.get('/products/')).status === 200)
})
