import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import {
  bearer,
  type KeyedShop,
  revokeKey,
  startKeyed,
  startKeyedShop,
} from '../../../test/harness/catalog/keyed-shop.ts'
import { everything } from '../../../test/harness/catalog/resources.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sendVerbatim } from '../../../test/harness/raw-http.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { storeKey } from '../../../test/harness/stored-keys.ts'
import { until } from '../../../test/harness/until.ts'
import { SCOPES, type Scope } from '../../access/key.ts'

setDefaultTimeout(120_000)

/** `stockroom_` and 43 characters, as every key, but nobody's. */
const UNKNOWN = `stockroom_${'x'.repeat(43)}`

/** The origin whose pages may speak with the service. */
const ORIGIN = 'https://shop.example'

/** An id that no test creates. */
const ABSENT_ID = '999999'

const Description = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.object({ tags: z.tuple([z.string()]), responses: z.record(z.string(), z.unknown()) })),
  ),
})

/** Services for the tests that need nothing of their own. */
let shared: Services
let withPublicReads: Service
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  shared = stack.use(await startServices(sqlite))
  withPublicReads = stack.use(await startKeyed(shared.shop.url, ['--public-reads', 'on']))
})
afterAll(() => stack.disposeAsync())

withEachEngine('a catalog with keys', engine => {
  test('each operation refuses every key that does not allow it, and treats every other like a catalog without keys', async () => {
    await using own = engine === sqlite ? null : await startServices(engine)
    const { shop, open } = own ?? shared
    await expectMatrix(shop.api.without, { shop, open: client(() => open.address), arePublic: () => false })
  })
})

test('with public reads, only what reads categories, products and reviews needs no key', async () => {
  const { shop, open } = shared
  await expectMatrix(
    client(() => withPublicReads.address),
    {
      shop,
      open: client(() => open.address),
      arePublic: ({ method, tag }) => method === 'GET' && tag !== 'Users',
    },
  )
})

test('HEAD is guarded like GET', async () => {
  const { shop } = shared
  for (const { path } of (await describedOperations(shop.api.without)).filter(({ method }) => method === 'GET')) {
    const head = async (api: Client) => (await api.send(path, { method: 'HEAD' })).status
    expect(await head(shop.api.without), path).toBe(401)
    expect(await head(shop.api.admin), path).toBe((await shop.api.admin.get(path)).status)
  }
})

test('NDJSON is guarded like JSON', async () => {
  const { shop } = shared
  const accept = { Accept: 'application/x-ndjson' }
  expect((await shop.api.without.get('/products/', accept)).status).toBe(401)
  expect((await shop.api.read.get('/products/', accept)).status).toBe(200)
  const post = (api: Client, path: string, body: object) =>
    api.send(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/x-ndjson' } })
  expect((await post(shop.api.read, '/products/', sample.product)).status).toBe(403)
  expect((await post(shop.api.write, '/users/', sample.user)).status).toBe(403)
  expect((await post(shop.api.write, '/products/', sample.product)).body).toEqual({
    created: 1,
    ids: [expect.any(Number)],
  })
  expect((await post(shop.api.admin, '/users/', sample.user)).body).toEqual({ created: 1, ids: [expect.any(Number)] })
})

test('a refused write changes nothing, and an allowed one is stored', async () => {
  const { shop } = shared
  const id = await shop.api.write.create('/products/', sample.product)
  const before = await everything(shop.api.admin)
  expect((await shop.api.read.put(`/products/${id}`, { ...sample.product, price: 1 })).status).toBe(403)
  expect((await shop.api.without.delete(`/products/${id}`)).status).toBe(401)
  expect((await shop.api.write.post('/users/', sample.user)).status).toBe(403)
  expect(await everything(shop.api.admin)).toEqual(before)
  expect((await shop.api.write.delete(`/products/${id}`)).status).toBe(200)
})

test('a request is refused before its body arrives', async () => {
  const { shop } = shared
  const { host } = new URL(shop.service.address)
  const head = (headers: string) =>
    `POST /users/ HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 500\r\nConnection: close\r\n${headers}\r\n`
  expect((await sendVerbatim(shop.service.address, head(''))).status).toBe(401)
  const authorization = `Authorization: Bearer ${shop.keys.write}\r\n`
  expect((await sendVerbatim(shop.service.address, head(authorization))).status).toBe(403)
})

test('the scheme is read in any case, and nothing but one Authorization header with one key is accepted', async () => {
  const { shop } = shared
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
  const { shop } = shared
  for (const name of ['access_token', 'key', 'api_key', 'token', 'Authorization']) {
    expect((await shop.api.without.get(`/products/?${name}=${shop.keys.read}`)).status, name).toBe(401)
  }
})

test('no key is in a log or an answer, and the log names the key of each request', async () => {
  const { shop } = shared
  await using service = await startKeyed(shop.url)
  const api = client(() => service.address)
  const answers = [
    await api.get('/products/', bearer(shop.keys.read)),
    await api.send('/products/', { method: 'POST', headers: bearer(shop.keys.read) }),
    await api.get(`/products/?key=${shop.keys.write}`),
    await api.get('/products/', bearer(`${shop.keys.admin}x`)),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 403, 401, 401])
  await service.stop()
  const text = service.errors() + JSON.stringify(answers.map(({ body, headers }) => [body, [...headers]]))
  for (const secret of Object.values(shop.keys)) expect(text).not.toContain(secret.slice('stockroom_'.length))
  const lines = service.errors().trimEnd().split('\n')
  const logged = lines.map(line => z.object({ logger: z.string(), key: z.string().optional() }).parse(JSON.parse(line)))
  expect(logged.filter(({ logger }) => logger === 'request').map(({ key }) => key)).toEqual([
    'reader',
    'reader',
    undefined,
    undefined,
  ])
})

test('what tells nothing of the catalog needs no key', async () => {
  const { shop } = shared
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
  const { shop } = shared
  const preflight = await shop.api.without.send('/products/', {
    method: 'OPTIONS',
    headers: {
      Origin: ORIGIN,
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
    const { headers, ...answer } = await api.send('/products/', { method: 'POST', headers: { Origin: ORIGIN } })
    expect(answer.status).toBe(status)
    expect(headers.get('Access-Control-Allow-Origin')).toBe(ORIGIN)
  }
  expect((await shop.api.read.get('/products/', { Origin: ORIGIN })).status).toBe(200)
})

test('caches that clients share may keep nothing that needs a key', async () => {
  const { shop } = shared
  const caching = async (service: Service, path: string, headers: Record<string, string>) =>
    (await client(() => service.address).get(path, headers)).headers.get('Cache-Control')
  const admin = bearer(shop.keys.admin)
  expect(await caching(shop.service, '/products/', admin)).toBe('private, no-cache')
  expect(await caching(shop.service, '/products/', {})).toBe('private, no-cache')
  expect(await caching(shop.service, '/users/', admin)).toBe('no-store')
  expect(await caching(withPublicReads, '/products/', {})).toBe('no-cache')
  expect(await caching(withPublicReads, '/users/', admin)).toBe('no-store')
})

test('public reads show the name and picture of who wrote a review, and nothing else about users', async () => {
  const { shop } = shared
  const product = await shop.api.admin.create('/products/', sample.product)
  const user = await shop.api.admin.create('/users/', sample.user)
  const review = await shop.api.admin.create('/reviews/', sample.review(product, user))
  const paths = [
    `/products/${product}`,
    '/products/',
    `/reviews/${review}`,
    '/reviews/',
    `/reviews/users/${user}`,
    `/reviews/products/${product}/users/${user}`,
  ]
  const api = client(() => withPublicReads.address)
  const answers = await Promise.all(paths.map(path => api.get(path)))
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200))
  const shown = JSON.stringify(answers.map(({ body }) => body))
  expect(shown).toContain(sample.user.name)
  for (const hidden of [sample.user.email, sample.user.password, 'is_admin']) expect(shown).not.toContain(hidden)
})

test('the ready line says who may do what', async () => {
  const { shop } = shared
  await using open = await startService(shop.url)
  await using keyed = await startKeyed(shop.url)
  expect(open.output()).toContain('/docs; anyone who can reach it may read and change everything (AUTH=off)\n')
  expect(keyed.output()).toContain('/docs; all requests require an access key\n')
  expect(withPublicReads.output()).toContain(
    '; anyone may read categories, products and reviews, and all else requires',
  )
  await Promise.all([open.stop(), keyed.stop()])
  expect(open.output() + keyed.output()).not.toContain('key create')
})

test('without any key, the start says how to create one in this database', async () => {
  await using database = await sqlite.freshDatabase()
  // Four slashes before an absolute path, as other programs write it. With two, another path would be relative.
  const url = database.url.replace(':/', ':////')
  await using service = await startService(url, { flags: ['--auth', 'keys'] })
  const command = `stockroom key create NAME --scope admin --database ${database.url}`
  await until(() => service.output().includes(`${command}\` creates one`))
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
  /** The statuses of refusals that are described. */
  readonly refusals: readonly string[]
}

interface Services extends AsyncDisposable {
  readonly shop: KeyedShop
  /** Asks for no key, on the same database. */
  readonly open: Service
}

async function startServices(engine: Engine): Promise<Services> {
  const stack = new AsyncDisposableStack()
  const shop = stack.use(await startKeyedShop(engine, ['--cors-origins', ORIGIN]))
  const open = stack.use(await startService(shop.url))
  return { shop, open, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** Sends each operation with each kind of key, and compares the answers with those of the open service. */
async function expectMatrix(
  guarded: Client,
  {
    shop,
    open,
    arePublic,
  }: { readonly shop: KeyedShop; readonly open: Client; readonly arePublic: (operation: Operation) => boolean },
): Promise<void> {
  const name = crypto.randomUUID()
  const revoked = await storeKey(shop.url, name, 'admin')
  expect((await guarded.get('/users/', bearer(revoked))).status).toBe(200)
  await revokeKey(shop.url, name)
  await until(async () => (await guarded.get('/users/', bearer(revoked))).status === 401)
  const operations = await describedOperations(guarded)
  expect(operations).toHaveLength(25)
  // All at once, because many unknown keys share one look into the database.
  await Promise.all(
    operations.map(async operation => {
      const { method, path, tag, refusals } = operation
      const needed: Scope = tag === 'Users' ? 'admin' : method === 'GET' ? 'read' : 'write'
      expect(refusals, `${method} ${path}`).toEqual(needed === 'read' ? ['401'] : ['401', '403'])
      const sent = async (headers: Record<string, string>, to = guarded) =>
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
    Object.entries(methods).map(([method, { tags, responses }]) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, ABSENT_ID),
      tag: tags[0],
      refusals: Object.keys(responses).filter(status => ['401', '403'].includes(status)),
    })),
  )
}

/** The parts of an answer that depend on the key. */
function seen({ status, headers, body }: Answer): unknown[] {
  const detail = typeof body === 'object' && body !== null && 'detail' in body ? body.detail : body
  return [status, headers.get('WWW-Authenticate'), detail]
}
