import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type KeyedShop, startKeyed, startKeyedShop } from '../../../../test/harness/catalog/keyed-shop.ts'
import { idsOf } from '../../../../test/harness/catalog/list-pages.ts'
import { shelf } from '../../../../test/harness/catalog/resources.ts'
import { client } from '../../../../test/harness/client.ts'
import { sqlite } from '../../../../test/harness/engines.ts'

setDefaultTimeout(120_000)

const ORIGIN = 'https://shop.example'
const QUERIES = ['q=a', 'sort=-id', 'count=5', 'fields=id', 'id=1']
/** The lists of which a shopper may see everything. */
const PUBLIC_LISTS = ['/products/', '/categories/']

const open = new AsyncDisposableStack()
let shop: KeyedShop

beforeAll(async () => {
  shop = open.use(await startKeyedShop(sqlite, ['--cors-origins', ORIGIN]))
  await shelf(shop.api.admin)
})
afterAll(() => open.disposeAsync())

test('a selection needs the key that its list needs', async () => {
  const { without, read, write, admin } = shop.api
  for (const query of QUERIES) {
    for (const list of PUBLIC_LISTS) {
      expect((await without.get(`${list}?${query}`)).status, list + query).toBe(401)
      for (const api of [read, write, admin]) expect((await api.get(`${list}?${query}`)).status, list + query).toBe(200)
    }
    expect((await without.get(`/users/?${query}`)).status, query).toBe(401)
    for (const api of [read, write]) expect((await api.get(`/users/?${query}`)).status, query).toBe(403)
    expect((await admin.get(`/users/?${query}`)).status, query).toBe(200)
  }
  expect((await read.get('/users/1?fields=email')).status).toBe(403)
  expect((await read.get('/reviews/?rating=4')).status).toBe(200)
})

test('a request without the key learns nothing about its parameters', async () => {
  for (const list of [...PUBLIC_LISTS, '/users/']) {
    const headers = { Prefer: 'handling=strict' }
    expect((await shop.api.without.get(`${list}?sort=x&colour=red`, headers)).status, list).toBe(401)
  }
})

test('with PUBLIC_READS, selections need no key, except those of users', async () => {
  await using service = await startKeyed(shop.url, ['--public-reads', 'on'])
  const api = client(() => service.address)
  expect(idsOf(await api.get('/products/?q=spade&sort=-rating&count=5'))).toEqual([1])
  expect((await api.get('/users/?q=ada')).status).toBe(401)
})

test('a selection shows nothing of a user but what a review shows', async () => {
  const { read } = shop.api
  const { body } = await read.get('/reviews/?rating=4&fields=user,rating')
  expect(JSON.stringify(body)).not.toMatch(/mail|password/)
})

test('with CORS_ORIGINS, a page may read the headers of selections, and ask to be strict', async () => {
  const { headers } = await shop.api.read.get('/products/?count=5&sort=name', {
    Origin: ORIGIN,
    Prefer: 'handling=strict',
  })
  const exposed = (headers.get('Access-Control-Expose-Headers') ?? '').toLowerCase().split(/\s*,\s*/)
  for (const name of ['X-Total-Count', 'Preference-Applied']) {
    expect(headers.get(name), name).not.toBeNull()
    expect(exposed, name).toContain(name.toLowerCase())
  }
  const preflight = await shop.api.without.send('/products/?q=a', {
    method: 'OPTIONS',
    headers: { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'prefer' },
  })
  expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toContain('prefer')
})
