import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { z } from 'zod'
import { campaign } from '../../../test/harness/campaign.ts'
import { createMany } from '../../../test/harness/catalog/created.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { onEachEngine, QUICK_HASHES, withEachEngine } from '../../../test/harness/contract.ts'
import { copied } from '../../../test/harness/copy/copied.ts'
import { citus, ENGINES } from '../../../test/harness/engines.ts'
import { connected } from '../../../test/harness/postgres/database.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** Clients that update one resource at the same time. */
const RIVALS = 12
const ROUNDS = 1
/** How often each of the clients counts. */
const COUNTS = 5

const MALFORMED = ['abc', '"abc', 'abc"', '*, "a"', '"a" "b"', "'a'", ',', 'w/"a"', '"a b"']

const Pattern = z.object({ schema: z.object({ pattern: z.string() }) })

const Creation = z.object({ ids: z.array(z.int()) })

const Description = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ parameters: z.array(z.looseObject({ $ref: z.string().optional() })), responses: z.looseObject({}) }),
    ),
  ),
  components: z.object({ parameters: z.object({ IfMatch: Pattern }), headers: z.object({ ETag: Pattern }) }),
})

interface Kind {
  readonly path: string
  readonly method: 'PUT' | 'PATCH'
  readonly body: object
}

/** One resource of each kind, and how its owner updates it. */
async function shop(api: Client): Promise<Kind[]> {
  const category = await api.create('/categories/', sample.category)
  const product = await api.create(`/products/${category}/products`, sample.product)
  const user = await api.create('/users/', sample.user)
  const review = await api.create('/reviews/', sample.review(product, user))
  return [
    { path: `/reviews/${review}`, method: 'PATCH', body: { ...sample.review(product, user), rating: 1 } },
    { path: `/users/${user}`, method: 'PATCH', body: { ...sample.user, name: 'Grace', password: '**********' } },
    { path: `/products/${product}`, method: 'PUT', body: { ...sample.product, price: 7 } },
    { path: `/categories/${category}`, method: 'PUT', body: { ...sample.category, name: 'Kitchen' } },
  ]
}

function write(api: Client, method: string, path: string, ifMatch: string, body?: object): Promise<Answer> {
  const headers = { 'Content-Type': 'application/json', 'If-Match': ifMatch }
  return api.send(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
}

function tagIn({ headers }: Answer): string {
  return headers.get('ETag') ?? ''
}

async function tagOf(api: Client, path: string): Promise<string> {
  return tagIn(await api.get(path))
}

onEachEngine('updates with If-Match', api => {
  test('an update with the tag of the last read is done once, and a second one gets 412 and changes nothing', async () => {
    for (const { path, method, body } of await shop(api)) {
      const tag = await tagOf(api, path)
      expect((await write(api, method, path, tag, body)).status, path).toBe(200)
      const now = await api.get(path)
      const late = await write(api, method, path, tag, body)
      expect(late.status, path).toBe(412)
      expect(late.body, path).toEqual({ detail: expect.stringMatching(/^(Category|Product|User|Review) has changed$/) })
      expect((await write(api, 'DELETE', path, tag)).status, path).toBe(412)
      expect(await api.get(path), path).toMatchObject({ status: 200, body: now.body })
      expect(await tagOf(api, path), path).toBe(tagIn(now))
      expect((await write(api, 'DELETE', path, tagIn(now))).status, path).toBe(200)
      expect((await api.get(path)).status, path).toBe(404)
    }
  })

  test('the answer to a create or update has the tag that a read would get, so that a client can go on', async () => {
    const created = await api.post('/products/', sample.product)
    const path = `/products/${created.body instanceof Object && 'id' in created.body && created.body.id}`
    expect(tagIn(created)).toBe(await tagOf(api, path))
    let tag = tagIn(created)
    for (const price of [1, 2, 3]) {
      const updated = await write(api, 'PUT', path, tag, { ...sample.product, price })
      expect(updated.status).toBe(200)
      expect(tagIn(updated)).not.toBe(tag)
      expect(tagIn(updated)).toBe(await tagOf(api, path))
      tag = tagIn(updated)
    }
    expect(tagIn(await write(api, 'DELETE', path, tag))).toBe('')
  })

  test('what others add to a resource does not fail the update of its owner', async () => {
    const category = await api.create('/categories/', sample.category)
    const product = await api.create(`/products/${category}/products`, sample.product)
    const user = await api.create('/users/', sample.user)
    const paths = [`/categories/${category}`, `/products/${product}`, `/users/${user}`]
    const tags = await Promise.all(paths.map(path => tagOf(api, path)))
    await api.create('/reviews/', sample.review(product, user))
    await api.create(`/products/${category}/products`, sample.product)
    const tagsNow = await Promise.all(paths.map(path => tagOf(api, path)))
    const bodies = [sample.category, sample.product, sample.user]
    for (const [place, path] of paths.entries()) {
      expect(tagsNow[place], path).not.toBe(tags[place])
      const method = path.startsWith('/users') ? 'PATCH' : 'PUT'
      expect((await write(api, method, path, tags[place] ?? '', bodies[place])).status, path).toBe(200)
    }
  })

  test('a product whose category is deleted can still be updated', async () => {
    const category = await api.create('/categories/', sample.category)
    const path = `/products/${await api.create(`/products/${category}/products`, sample.product)}`
    const tag = await tagOf(api, path)
    expect((await api.delete(`/categories/${category}`)).status).toBe(200)
    expect((await write(api, 'PUT', path, tag, sample.product)).status).toBe(200)
  })

  test('any tag of a list may match, * always does, and weak tags and tags of other things never do', async () => {
    const path = `/products/${await api.create('/products/', sample.product)}`
    const put = async (ifMatch: string) => (await write(api, 'PUT', path, ifMatch, sample.product)).status
    expect(await put(`"other", ${await tagOf(api, path)}`)).toBe(200)
    expect(await put(`W/"a,b" ,, ${await tagOf(api, path)},`)).toBe(200)
    expect(await put('*')).toBe(200)
    const tag = await tagOf(api, path)
    const list = await tagOf(api, '/products/?limit=1')
    for (const none of [`W/${tag}`, '"other"', '""', list, '"ZZ.1"', '"99999999999999.1"', `"x${tag.slice(1)}`]) {
      expect(await put(none), none).toBe(412)
    }
    expect(await put(tag)).toBe(200)
  })

  test('the tag of a resource fits no other resource, however they were created', async () => {
    const [first, second] = [await shop(api), await shop(api)]
    for (const [place, { path, method, body }] of first.entries()) {
      const tag = await tagOf(api, path)
      expect((await write(api, method, second[place]?.path ?? '', tag, body)).status, path).toBe(412)
      expect((await write(api, method, path, '"0.x"', body)).status, path).toBe(412)
      expect((await write(api, method, path, tag, body)).status, path).toBe(200)
    }
    const lines = [1, 2, 3].map(() => `${JSON.stringify(sample.product)}\n`).join('')
    const headers = { 'Content-Type': 'application/x-ndjson' }
    const { ids } = Creation.parse((await api.send('/products/', { method: 'POST', body: lines, headers })).body)
    const tags = await Promise.all(ids.map(id => tagOf(api, `/products/${id}`)))
    expect(new Set(tags.map(tag => tag.split('.')[0])).size).toBe(3)
  })

  test('a malformed If-Match is 400 and writes nothing', async () => {
    const path = `/products/${await api.create('/products/', sample.product)}`
    const { body } = await api.get(path)
    for (const malformed of MALFORMED) {
      for (const method of ['PUT', 'DELETE']) {
        const answer = await write(api, method, path, malformed, method === 'PUT' ? sample.product : undefined)
        expect(answer.status, `${method} ${malformed}`).toBe(400)
        expect(answer.body).toEqual({ detail: 'If-Match must be * or a list of entity tags in double quotes' })
      }
    }
    expect((await api.get(path)).body).toEqual(body)
  })

  test('the strict description has the header, its 412, and the tags as they are', async () => {
    const { body } = await api.get('/openapi.strict.json')
    const { paths, components } = Description.parse(body)
    for (const operations of Object.values(paths)) {
      for (const [method, { parameters, responses }] of Object.entries(operations)) {
        const changes = ['put', 'patch', 'delete'].includes(method)
        expect(parameters.some(({ $ref }) => $ref === '#/components/parameters/IfMatch')).toBe(changes)
        expect('412' in responses).toBe(changes)
      }
    }
    const ifMatch = new RegExp(components.parameters.IfMatch.schema.pattern)
    for (const malformed of MALFORMED) expect(ifMatch.test(malformed), malformed).toBe(false)
    const tag = new RegExp(components.headers.ETag.schema.pattern)
    for (const characters of [1, 10_000, 300_000]) {
      const created = await api.post('/products/', { ...sample.product, description: 'x'.repeat(characters) })
      expect(tagIn(created)).toMatch(tag)
      expect(tagIn(created)).toMatch(ifMatch)
    }
  })

  test('what would fail without If-Match fails in the same way with it', async () => {
    for (const ifMatch of ['*', '"other"']) {
      expect((await write(api, 'PUT', '/products/999999', ifMatch, sample.product)).status).toBe(404)
      expect((await write(api, 'PATCH', '/users/999999', ifMatch, sample.user)).status).toBe(404)
      expect((await write(api, 'PATCH', '/reviews/999999', ifMatch, sample.review(1, 1))).status).toBe(404)
      expect((await write(api, 'DELETE', '/products/999999', ifMatch)).status).toBe(404)
      const [review] = await shop(api)
      const path = review?.path ?? ''
      const orphan = await write(api, 'PATCH', path, ifMatch, sample.review(999_999, 1))
      expect(orphan).toMatchObject({ status: 404, body: { detail: 'Product not found' } })
      expect((await write(api, 'PATCH', path, ifMatch, { rating: 9 })).status).toBe(422)
    }
  })

  test('a new password makes a new tag', async () => {
    const path = `/users/${await api.create('/users/', sample.user)}`
    const tag = await tagOf(api, path)
    const changed = await write(api, 'PATCH', path, tag, { ...sample.user, password: 'another secret' })
    expect(changed.status).toBe(200)
    expect(await tagOf(api, path)).not.toBe(tag)
    expect((await write(api, 'PATCH', path, tag, sample.user)).status).toBe(412)
  })

  test('the tag of a compressed answer counts, however large it is', async () => {
    for (const characters of [10_000, 300_000]) {
      const large = { ...sample.product, description: 'x'.repeat(characters) }
      const path = `/products/${await api.create('/products/', large)}`
      const read = await api.get(path, { 'Accept-Encoding': 'gzip' })
      expect((await api.get(path, { 'Accept-Encoding': 'gzip', 'If-None-Match': tagIn(read) })).status).toBe(304)
      expect((await write(api, 'PUT', path, tagIn(read), large)).status).toBe(200)
      expect((await write(api, 'PUT', path, tagIn(read), large)).status).toBe(412)
    }
  })

  test('a resource with many and heavy items is updated and deleted with its tag only', async () => {
    const product = await api.create('/products/', sample.product)
    const user = await api.create('/users/', sample.user)
    const comments = Array.from({ length: 101 }, (_, place) => 'x'.repeat(place < 2 ? 600_000 : 1))
    const reviews = comments.map(comment => ({ ...sample.review(product, user), comment }))
    await createMany(api, '/reviews/', reviews)
    const path = `/products/${product}`
    const old = await tagOf(api, path)
    const updated = await write(api, 'PUT', path, old, { ...sample.product, price: 7 })
    expect(updated.body).toMatchObject({ price: 7, reviews: { length: 1 } })
    expect((await write(api, 'PUT', path, old, sample.product)).status).toBe(412)
    expect((await write(api, 'DELETE', path, old)).status).toBe(412)
    expect((await api.get(path)).body).toEqual(updated.body)
    expect(await write(api, 'DELETE', path, tagIn(updated))).toMatchObject({ status: 200, body: updated.body })
    expect((await api.get(path)).status).toBe(404)
  })
})

withEachEngine('updates with If-Match on two nodes', engine => {
  const open = new AsyncDisposableStack()
  const services: Service[] = []
  let url = ''
  const [one, other] = [client(() => services[0]?.address ?? ''), client(() => services[1]?.address ?? '')]
  const nodeOf = (place: number) => (place % 2 === 0 ? one : other)

  beforeAll(async () => {
    const database = open.use(await engine.freshDatabase())
    url = database.url
    for (let node = 0; node < 2; node += 1) {
      services.push(open.use(await startService(url, { flags: FLAGS, environment: QUICK_HASHES })))
    }
  })
  afterAll(() => open.disposeAsync())

  campaign('of many updates at once with the same tag, exactly one is done', async ({ rounds }) => {
    for (const _ of rounds(ROUNDS)) {
      for (const { path, method, body } of await shop(one)) {
        const tag = await tagOf(one, path)
        expect(await tagOf(other, path), path).toBe(tag)
        const answers = await Promise.all(
          Array.from({ length: RIVALS }, (_, place) => write(nodeOf(place), method, path, tag, body)),
        )
        const done = answers.filter(({ status }) => status === 200)
        expect(done.length, path).toBe(1)
        expect(answers.filter(({ status }) => status === 412).length, path).toBe(RIVALS - 1)
        expect(await tagOf(other, path), path).toBe(done[0] ? tagIn(done[0]) : '')
      }
    }
  })

  campaign('of updates and deletes at once with the same tag, exactly one is done', async ({ rounds }) => {
    for (const _ of rounds(ROUNDS)) {
      for (const { path, method, body } of await shop(one)) {
        const tag = await tagOf(one, path)
        const answers = await Promise.all(
          Array.from({ length: RIVALS }, (_, place) =>
            place % 4 < 2 ? write(nodeOf(place), method, path, tag, body) : write(nodeOf(place), 'DELETE', path, tag),
          ),
        )
        expect(answers.filter(({ status }) => status === 200).length, path).toBe(1)
        expect(
          answers.filter(({ status }) => ![200, 404, 412].includes(status)),
          path,
        ).toEqual([])
      }
    }
  })

  test('a review that another node has moved is updated and read where it is now', async () => {
    const products = [await one.create('/products/', sample.product), await one.create('/products/', sample.product)]
    const user = await one.create('/users/', sample.user)
    const path = `/reviews/${await one.create('/reviews/', sample.review(Number(products[0]), user))}`
    const move = (place: number) => write(other, 'PATCH', path, '*', sample.review(Number(products[place]), user))
    const moved = await move(1)
    const updated = await write(one, 'PATCH', path, tagIn(moved), {
      ...sample.review(Number(products[1]), user),
      rating: 1,
    })
    expect(updated).toMatchObject({ status: 200, body: { product_id: products[1], rating: 1 } })
    expect((await one.get(path)).body).toEqual(updated.body)
    const back = await move(0)
    expect(await one.get(path)).toMatchObject({ status: 200, body: back.body })
  })

  test('clients that read, count one up and try again after a 412 lose no count', async () => {
    const path = `/products/${await one.create('/products/', { ...sample.product, price: 1 })}`
    let refused = 0
    const count = async (api: Client) => {
      for (;;) {
        const { body, headers } = await api.get(path)
        const price = body instanceof Object && 'price' in body ? Number(body.price) : 0
        const tag = headers.get('ETag') ?? ''
        const { status } = await write(api, 'PUT', path, tag, { ...sample.product, price: price + 1 })
        if (status === 200) return
        expect(status).toBe(412)
        refused += 1
      }
    }
    const clients = Array.from({ length: 8 }, async (_, place) => {
      for (let counted = 0; counted < COUNTS; counted += 1) await count(nodeOf(place))
    })
    await Promise.all(clients)
    expect((await one.get(path)).body).toMatchObject({ price: 1 + 8 * COUNTS })
    expect(refused).toBeGreaterThan(0)
  })

  test.skipIf(engine === citus)('an update by another program counts, whatever field it changes', async () => {
    await using database = connected(url)
    const fields = {
      categories: ['name'],
      products: ['price'],
      users: ['is_banned', 'password_hash'],
      reviews: ['rating'],
    }
    const changes = Object.entries(fields).flatMap(([table, names]) => names.map(name => [table, name] as const))
    const kinds = await shop(one)
    for (const [table, field] of changes) {
      const kind = kinds.find(({ path }) => path.startsWith(`/${table}/`))
      if (!kind) throw new Error(`no sample of ${table}`)
      const { path, method, body } = kind
      const tag = await tagOf(one, path)
      // The same value again is an update, too.
      await database.unsafe(`UPDATE ${table} SET ${field} = ${field} WHERE id = ${path.split('/').at(-1)}`)
      expect((await write(other, method, path, tag, body)).status, `${table} ${field}`).toBe(412)
    }
  })

  const tagsOfOthers =
    'rows of other programs have tags of their own, and a row with the id of a deleted one has another'
  test.skipIf(engine === citus)(tagsOfOthers, async () => {
    await using database = connected(url)
    await database.unsafe(
      "INSERT INTO products (name, price, description) VALUES ('Spade', 1, 'Steel'), ('Spade', 1, 'Steel')",
    )
    const [last] = await engine.read<{ id: number }>(url, 'SELECT max(id) AS id FROM products')
    const id = Number(last?.id)
    const path = `/products/${id}`
    const tag = await tagOf(one, path)
    expect((await write(one, 'PUT', `/products/${id - 1}`, tag, sample.product)).status).toBe(412)
    const { body } = await write(one, 'DELETE', path, tag)
    using folder = temporaryFolder()
    const file = join(folder.path, 'products.ndjson')
    await Bun.write(file, JSON.stringify(body))
    expect(await run(['import', '--database', url, file])).toMatchObject({ status: 0 })
    expect((await one.get(path)).body).toEqual(body)
    expect((await write(other, 'PUT', path, tag, sample.product)).status).toBe(412)
  })

  test('a tag is still good after a restart and after a copy to another database', async () => {
    const [kind] = await shop(one)
    if (!kind) throw new Error('no sample')
    const { path, method, body } = kind
    const updated = await write(one, method, path, '*', body)
    const target = ENGINES.find(({ name }) => name !== engine.name) ?? engine
    await using copy = await target.freshDatabase()
    await copied(url, copy.url)
    for (const databaseUrl of [url, copy.url]) {
      await using again = await startService(databaseUrl, { flags: FLAGS })
      const api = client(() => again.address)
      expect(await tagOf(api, path)).toBe(tagIn(updated))
      expect((await write(api, method, path, tagIn(updated), body)).status).toBe(200)
      expect((await write(api, method, path, tagIn(updated), body)).status).toBe(412)
    }
  })
})
