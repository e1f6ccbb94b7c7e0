import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import {
  bearer,
  createKey,
  type KeyedShop,
  revokeKey,
  startKeyedShop,
} from '../../../test/harness/catalog/keyed-shop.ts'
import { everything } from '../../../test/harness/catalog/resources.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sendVerbatim } from '../../../test/harness/raw-http.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'
import { SCOPES, type Scope } from '../../access/key.ts'

setDefaultTimeout(120_000)

/** `stockroom_` and 43 characters, as every key, but nobody's. */
const UNKNOWN = `stockroom_${'x'.repeat(43)}`

const Description = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ tags: z.tuple([z.string()]) }))),
})

withEachEngine('a catalog with keys', engine => {
  test('each operation refuses every key that does not allow it, and treats every other like a catalog without keys', async () => {
    await using database = await engine.freshDatabase()
    await using open = await startService(database.url)
    await using shop = await startKeyedShop(engine)
    await expectMatrix(
      shop,
      client(() => open.address),
      { arePublic: () => false },
    )
  })

  test('with public reads, only what reads categories, products and reviews needs no key', async () => {
    await using database = await engine.freshDatabase()
    await using open = await startService(database.url)
    await using shop = await startKeyedShop(engine, ['--public-reads', 'on'])
    await expectMatrix(
      shop,
      client(() => open.address),
      {
        arePublic: ({ method, tag }) => method === 'GET' && tag !== 'Users',
      },
    )
  })
})

test('HEAD is guarded like GET', async () => {
  await using shop = await startKeyedShop(sqlite)
  for (const { path } of (await describedOperations(shop.api.without)).filter(({ method }) => method === 'GET')) {
    const head = async (api: Client) => (await api.send(path, { method: 'HEAD' })).status
    expect(await head(shop.api.without), path).toBe(401)
    expect(await head(shop.api.admin), path).toBe((await shop.api.admin.get(path)).status)
  }
})

test('NDJSON is guarded like JSON', async () => {
  await using shop = await startKeyedShop(sqlite)
  const accept = { Accept: 'application/x-ndjson' }
  expect((await shop.api.without.get('/products/', accept)).status).toBe(401)
  expect((await shop.api.read.get('/products/', accept)).status).toBe(200)
  const post = (api: Client, path: string, body: object) =>
    api.send(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/x-ndjson' } })
  expect((await post(shop.api.read, '/products/', sample.product)).status).toBe(403)
  expect((await post(shop.api.write, '/users/', sample.user)).status).toBe(403)
  expect((await post(shop.api.write, '/products/', sample.product)).body).toEqual({ created: 1, ids: [1] })
  expect((await post(shop.api.admin, '/users/', sample.user)).body).toEqual({ created: 1, ids: [1] })
})

test('a refused write changes nothing, and an allowed one is stored', async () => {
  await using shop = await startKeyedShop(sqlite)
  const id = await shop.api.write.create('/products/', sample.product)
  const before = await everything(shop.api.admin)
  expect((await shop.api.read.put(`/products/${id}`, { ...sample.product, price: 1 })).status).toBe(403)
  expect((await shop.api.without.delete(`/products/${id}`)).status).toBe(401)
  expect((await shop.api.write.post('/users/', sample.user)).status).toBe(403)
  expect(await everything(shop.api.admin)).toEqual(before)
  expect((await shop.api.write.delete(`/products/${id}`)).status).toBe(200)
})

test('a request is refused before its body arrives', async () => {
  await using shop = await startKeyedShop(sqlite)
  const { host } = new URL(shop.service.address)
  const head = (headers: string) =>
    `POST /users/ HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 500\r\nConnection: close\r\n${headers}\r\n`
  expect((await sendVerbatim(shop.service.address, head(''))).status).toBe(401)
  const authorization = `Authorization: Bearer ${shop.keys.write}\r\n`
  expect((await sendVerbatim(shop.service.address, head(authorization))).status).toBe(403)
})

test('the scheme is read in any case, and nothing but one Authorization header with one key is accepted', async () => {
  await using shop = await startKeyedShop(sqlite)
  const { read } = shop.keys
  const statusOf = async (authorization: string) =>
    (await shop.api.without.get('/products/', { Authorization: authorization })).status
  for (const accepted of [`Bearer ${read}`, `bearer ${read}`, `BEARER   ${read}`]) {
    expect(await statusOf(accepted), accepted).toBe(200)
  }
  const refused = [
    'Bearer',
    `Bearer${read}`,
    read,
    `Basic ${read}`,
    `Bearer ${read} ${read}`,
    `Bearer ${read},x`,
    `Bearer "${read}"`,
  ]
  for (const authorization of [...refused, `Bearer ${read.toLowerCase()}`, `Bearer ${read}${'x'.repeat(10_000)}`]) {
    expect(await statusOf(authorization), authorization).toBe(401)
  }
  const { host } = new URL(shop.service.address)
  const lines = [`GET /products/ HTTP/1.1`, `Host: ${host}`, 'Connection: close', `Authorization: Bearer ${read}`]
  const verbatim = async (...more: string[]) =>
    (await sendVerbatim(shop.service.address, `${[...lines, ...more].join('\r\n')}\r\n\r\n`)).status
  expect(await verbatim()).toBe(200)
  expect(await verbatim(`Authorization: Bearer ${read}`)).toBe(401)
})

test('a key in a query is not accepted', async () => {
  await using shop = await startKeyedShop(sqlite)
  for (const name of ['access_token', 'key', 'api_key', 'token', 'Authorization']) {
    expect((await shop.api.without.get(`/products/?${name}=${shop.keys.read}`)).status, name).toBe(401)
  }
})

test('no key is in a log or an answer, and the log names the key of each request', async () => {
  await using shop = await startKeyedShop(sqlite)
  const answers = [
    await shop.api.read.get('/products/'),
    await shop.api.read.post('/products/', sample.product),
    await shop.api.without.get(`/products/?key=${shop.keys.write}`),
    await shop.api.without.get('/products/', bearer(`${shop.keys.admin}x`)),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 401, 401])
  await shop.service.stop()
  const text = shop.service.errors() + JSON.stringify(answers.map(({ body, headers }) => [body, [...headers]]))
  for (const secret of Object.values(shop.keys)) expect(text).not.toContain(secret.slice('stockroom_'.length))
  const lines = shop.service.errors().trimEnd().split('\n')
  const logged = lines.map(line => z.object({ logger: z.string(), key: z.string().optional() }).parse(JSON.parse(line)))
  expect(logged.filter(({ logger }) => logger === 'request').map(({ key }) => key)).toEqual([
    'reader',
    'reader',
    undefined,
    undefined,
  ])
})

test('what tells nothing of the catalog needs no key', async () => {
  await using shop = await startKeyedShop(sqlite)
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/openapi.json', 200],
    ['/docs', 200],
    ['/products', 307],
    ['/nothing', 404],
  ] as const) {
    expect((await shop.api.without.get(path)).status, path).toBe(status)
    expect((await shop.api.without.get(path, bearer(UNKNOWN))).status, path).toBe(status)
  }
  expect((await shop.api.without.delete('/products/')).status).toBe(405)
})

test('pages of other origins may send a key, and may read why a request was refused', async () => {
  const origin = 'https://shop.example'
  await using shop = await startKeyedShop(sqlite, ['--cors-origins', origin])
  const preflight = await shop.api.without.send('/products/', {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain('authorization')
  for (const [api, status] of [
    [shop.api.without, 401],
    [shop.api.read, 403],
    [shop.api.write, 422],
  ] as const) {
    const { headers, ...answer } = await api.send('/products/', { method: 'POST', headers: { Origin: origin } })
    expect(answer.status).toBe(status)
    expect(headers.get('Access-Control-Allow-Origin')).toBe(origin)
  }
  expect((await shop.api.read.get('/products/', { Origin: origin })).status).toBe(200)
})

test('caches that clients share may keep nothing that needs a key', async () => {
  await using shop = await startKeyedShop(sqlite)
  await using half = await startKeyedShop(sqlite, ['--public-reads', 'on'])
  const caching = async (api: Client, path: string) => (await api.get(path)).headers.get('Cache-Control')
  expect(await caching(shop.api.admin, '/products/')).toBe('private, no-cache')
  expect(await caching(shop.api.without, '/products/')).toBe('private, no-cache')
  expect(await caching(shop.api.admin, '/users/')).toBe('no-store')
  expect(await caching(half.api.without, '/products/')).toBe('no-cache')
  expect(await caching(half.api.admin, '/users/')).toBe('no-store')
})

test('public reads show the name and picture of who wrote a review, and nothing else about users', async () => {
  await using shop = await startKeyedShop(sqlite, ['--public-reads', 'on'])
  await shop.api.admin.create('/products/', sample.product)
  await shop.api.admin.create('/users/', sample.user)
  await shop.api.admin.create('/reviews/', sample.review(1, 1))
  const paths = [
    '/products/1',
    '/products/',
    '/reviews/1',
    '/reviews/',
    '/reviews/users/1',
    '/reviews/products/1/users/1',
  ]
  const shown = JSON.stringify(await Promise.all(paths.map(async path => (await shop.api.without.get(path)).body)))
  expect(shown).toContain(sample.user.name)
  for (const hidden of [sample.user.email, sample.user.password, 'is_admin']) expect(shown).not.toContain(hidden)
})

test('the ready line says who may do what', async () => {
  await using database = await sqlite.freshDatabase()
  await using open = await startService(database.url)
  await using shop = await startKeyedShop(sqlite)
  await using half = await startKeyedShop(sqlite, ['--public-reads', 'on'])
  expect(open.output()).toContain('/docs; anyone who can reach it may read and change everything (AUTH=off)\n')
  expect(shop.service.output()).toContain('/docs; all requests require an access key\n')
  expect(half.service.output()).toContain('; anyone may read categories, products and reviews, and all else requires')
  await Promise.all([open.stop(), shop.service.stop()])
  expect(open.output() + shop.service.output()).not.toContain('key create')
})

test('without any key, the start says how to create one', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--auth', 'keys'] })
  await until(() => service.output().includes('npx stockroom key create'))
})

test('settings that contradict each other, or say nothing that is known, are refused', async () => {
  expectRefusal(await run(['serve', '--auth', 'on']), { status: 2, reason: /--auth: "on" is not one of off, keys/ })
  expectRefusal(await run(['serve', '--public-reads', 'yes']), { status: 2, reason: /--public-reads/ })
  const environment = { PUBLIC_READS: 'on' }
  expectRefusal(await run(['serve'], { environment }), { status: 2, reason: /PUBLIC_READS: on requires AUTH=keys/ })
})

interface Operation {
  readonly method: string
  readonly path: string
  readonly tag: string
}

/** Sends each operation with each kind of key, and compares the answers with those of the open service. */
async function expectMatrix(
  shop: KeyedShop,
  open: Client,
  { arePublic }: { readonly arePublic: (operation: Operation) => boolean },
): Promise<void> {
  const revoked = await createKey(shop.url, 'revoked', 'admin')
  expect((await shop.api.without.get('/users/', bearer(revoked))).status).toBe(200)
  await revokeKey(shop.url, 'revoked')
  await until(async () => (await shop.api.without.get('/users/', bearer(revoked))).status === 401)
  const operations = await describedOperations(shop.api.without)
  expect(operations).toHaveLength(25)
  // All at once, because many unknown keys share one look into the database.
  await Promise.all(
    operations.map(async operation => {
      const { method, path, tag } = operation
      const needed: Scope = tag === 'Users' ? 'admin' : method === 'GET' ? 'read' : 'write'
      const sent = async (headers: Record<string, string>, to = shop.api.without) =>
        seen(await to.send(path, { method, headers }))
      const allowed = await sent({}, open)
      const invalid = [401, 'Bearer realm="stockroom", error="invalid_token"', 'Invalid authentication credentials']
      const none = [401, 'Bearer realm="stockroom"', 'Not authenticated']
      const expectRow = async (key: string, headers: Record<string, string>, answer: unknown[]) =>
        expect(await sent(headers), `${method} ${path} ${key}`).toEqual(answer)
      await expectRow('none', {}, arePublic(operation) ? allowed : none)
      await expectRow('unknown', bearer(UNKNOWN), invalid)
      await expectRow('revoked', bearer(revoked), invalid)
      for (const scope of SCOPES) {
        const isAllowed = SCOPES.indexOf(scope) >= SCOPES.indexOf(needed)
        const challenge = `Bearer realm="stockroom", error="insufficient_scope", scope="${needed}"`
        const refused = [403, challenge, 'Not enough permissions']
        await expectRow(scope, bearer(shop.keys[scope]), isAllowed ? allowed : refused)
      }
    }),
  )
}

async function describedOperations(api: Client): Promise<Operation[]> {
  const { paths } = Description.parse((await api.get('/openapi.json')).body)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, '1'),
      tag: tags[0],
    })),
  )
}

/** The parts of an answer that depend on the key. */
function seen({ status, headers, body }: Answer): unknown[] {
  const detail = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : body
  return [status, headers.get('WWW-Authenticate'), detail]
}
