import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { campaign } from '../../../test/harness/campaign.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { QUICK_HASHES } from '../../../test/harness/contract.ts'
import { connected, createDatabase, type TestDatabase } from '../../../test/harness/postgres/database.ts'
import { Load } from '../../../test/harness/postgres/load.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { type Service, startService } from '../../../test/harness/service.ts'

/** Several nodes on one database, as on several machines. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const NDJSON = { 'Content-Type': 'application/x-ndjson' }
const NODES = 3
const NODES_AT_ONCE = 5

/** Clients that change the same few things at once. */
const STORM = 24

/** How often two clients meet at the same row. `npm run torture` repeats it for longer. */
const MEETINGS = 10
/** Of deletes that lock the same rows in opposite orders. */
const CROSSINGS = 3

/** A user whose password does not change, because hashing one takes longer than anything else. */
const KEEPING_PASSWORD = { ...sample.user, password: '**********' }

const Identified = z.array(z.looseObject({ id: z.int() }))
const Review = z.object({ id: z.int(), product: z.object({ id: z.int() }), user: z.object({ id: z.int() }) })

const open = new AsyncDisposableStack()
let database: TestDatabase
let nodes: readonly Client[]

beforeAll(async () => {
  database = open.use(await createDatabase(await sharedServerUrl()))
  const services = await startNodes(database.url, NODES)
  for (const service of services) open.use(service)
  nodes = services.map(service => client(() => service.address))
})
afterAll(() => open.disposeAsync())

test('nodes that start at the same moment on an empty database create its tables once, and all serve it', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using stack = new AsyncDisposableStack()
  const services = await startNodes(empty.url, NODES_AT_ONCE)
  for (const service of services) stack.use(service)
  const apis = services.map(service => client(() => service.address))
  const ids = await Promise.all(apis.map(api => api.create('/products/', sample.product)))
  expect(new Set(ids).size).toBe(NODES_AT_ONCE)
  for (const api of apis) expect(await listOf(api, '/products/')).toHaveLength(NODES_AT_ONCE)
  await using sql = connected(empty.url)
  const applied = await sql`SELECT name, count(*)::int AS times FROM migrations GROUP BY name HAVING count(*) <> 1`
  expect(applied).toHaveLength(0)
})

campaign(
  'each node shows at once what another program changes, however often it was read before',
  async ({ rounds }) => {
    const id = await node(0).create('/products/', sample.product)
    await using sql = connected(database.url)
    for (const time of rounds(MEETINGS)) {
      await everywhere(`/products/${id}`, ({ status }) => expect(status).toBe(200))
      await everywhere(`/products/?after_id=${id - 1}&limit=1`, ({ status }) => expect(status).toBe(200))
      await sql`UPDATE products SET price = ${time + 5}::float8 WHERE id = ${id}`
      await everywhere(`/products/${id}`, ({ body }) => expect(body).toMatchObject({ price: time + 5 }))
      await everywhere(`/products/?after_id=${id - 1}&limit=1`, ({ body }) =>
        expect(body).toMatchObject([{ id, price: time + 5 }]),
      )
    }
  },
)

campaign('each node shows at once what another node acknowledged', async ({ rounds }) => {
  for (const time of rounds(MEETINGS)) {
    const writer = node(time)
    const id = await writer.create('/products/', sample.product)
    await everywhere(`/products/${id}`, ({ status }) => expect(status).toBe(200))
    expect((await node(time + 1).put(`/products/${id}`, { ...sample.product, price: time + 5 })).status).toBe(200)
    await everywhere(`/products/${id}`, ({ body }) => expect(body).toMatchObject({ price: time + 5 }))
    expect((await node(time + 2).delete(`/products/${id}`)).status).toBe(200)
    await everywhere(`/products/${id}`, ({ status }) => expect(status).toBe(404))
  }
})

campaign('updates of different fields of a user on different nodes do not undo each other', async ({ rounds }) => {
  for (const time of rounds(MEETINGS)) {
    const id = await node(time).create('/users/', sample.user)
    const flags = ['is_banned', 'is_blocked', 'is_suspended'] as const
    const answers = await Promise.all(
      flags.map((flag, which) => node(which).patch(`/users/${id}`, { ...KEEPING_PASSWORD, [flag]: 1 })),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    // Each update left out the others' flags, which keep their values.
    expect((await node(time).get(`/users/${id}`)).body).toMatchObject({
      is_banned: 1,
      is_blocked: 1,
      is_suspended: 1,
    })
  }
})

campaign('a delete on several nodes succeeds on one and is 404 on the others', async ({ rounds }) => {
  for (const time of rounds(MEETINGS)) {
    const id = await node(time).create('/products/', sample.product)
    const answers = await Promise.all(nodes.map(api => api.delete(`/products/${id}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404, 404])
  }
})

campaign(
  'a product is created in a category, or told that it is gone, while another node deletes the category',
  async ({ rounds }) => {
    for (const time of rounds(MEETINGS)) {
      const category = await node(time).create('/categories/', sample.category)
      const [created, deleted] = await Promise.all([
        node(time).post(`/products/${category}/products`, sample.product),
        node(time + 1).delete(`/categories/${category}`),
      ])
      expect(deleted.status).toBe(200)
      expect([200, 404]).toContain(created.status)
      if (created.status === 404) expect(created.body).toEqual({ detail: 'Category not found' })
      else await everywhere(`/products/${idOf(created)}`, ({ status }) => expect(status).toBe(200))
      expect((await node(time + 2).get(`/products/${category}/products`)).status).toBe(404)
    }
  },
)

campaign(
  'a review is created, or told what is gone, while other nodes delete its product and its user',
  async ({ rounds }) => {
    for (const time of rounds(MEETINGS)) {
      const product = await node(time).create('/products/', sample.product)
      const user = await node(time).create('/users/', sample.user)
      const answers = await Promise.all([
        node(time).post('/reviews/', sample.review(product, user)),
        node(time + 1).delete(`/products/${product}`),
        node(time + 2).delete(`/users/${user}`),
        node(time + 1).post('/reviews/', sample.review(product, user)),
      ])
      for (const { status } of answers) expect([200, 404]).toContain(status)
      for (const answer of [answers[0], answers[3]]) {
        if (answer.status === 404) expect(answer.body).toEqual({ detail: expect.stringMatching(/^(Product|User) not/) })
        else await everywhere(`/reviews/${idOf(answer)}`, ({ status }) => expect(status).toBe(404))
      }
    }
    expect(await orphans()).toEqual([])
  },
)

campaign(
  'a review is moved, or told what is gone, while other nodes delete its old and new parents',
  async ({ rounds }) => {
    for (const time of rounds(MEETINGS)) {
      const [from, to] = await Promise.all([1, 2].map(() => node(time).create('/products/', sample.product)))
      const user = await node(time).create('/users/', sample.user)
      const review = await node(time).create('/reviews/', sample.review(from ?? 0, user))
      const answers = await Promise.all([
        node(time).patch(`/reviews/${review}`, sample.review(to ?? 0, user)),
        node(time + 1).delete(`/products/${to}`),
        node(time + 2).delete(`/products/${from}`),
      ])
      for (const { status } of answers) expect([200, 404]).toContain(status)
      await everywhere(`/reviews/${review}`, ({ status }) => expect(status).toBe(404))
    }
    expect(await orphans()).toEqual([])
  },
)

campaign(
  'deletes that lock the same reviews in opposite orders are all answered, none with 500',
  async ({ rounds }) => {
    for (const time of rounds(CROSSINGS)) {
      const users = await Promise.all([1, 2, 3, 4].map(() => node(time).create('/users/', sample.user)))
      const products = await Promise.all([1, 2, 3, 4].map(() => node(time).create('/products/', sample.product)))
      const pairs = products.flatMap(product => users.map(user => [product, user] as const))
      await Promise.all(pairs.map(([product, user]) => node(product).create('/reviews/', sample.review(product, user))))
      const answers = await Promise.all([
        ...products.map((product, which) => node(which).delete(`/products/${product}`)),
        ...users.toReversed().map((user, which) => node(which + 1).delete(`/users/${user}`)),
      ])
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    }
    expect(await orphans()).toEqual([])
  },
)

test('a write that is rolled back because of others is tried until it succeeds', async () => {
  await using sql = connected(database.url)
  // A sequence counts on when all else is rolled back.
  await sql.unsafe(`
    CREATE SEQUENCE tries;
    CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF nextval('tries') < 5 THEN RAISE SQLSTATE '40001'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER contested BEFORE INSERT ON categories FOR EACH ROW WHEN (NEW.name = 'Contested') EXECUTE FUNCTION conflict()`)
  const id = await node(0).create('/categories/', { ...sample.category, name: 'Contested' })
  expect(await node(1).get(`/categories/${id}`)).toMatchObject({ status: 200 })
  const [counted] = await sql`SELECT last_value::int AS tries FROM tries`
  expect(counted).toEqual({ tries: 5 })
})

test('on a database that refuses conflicting transactions, clients of many nodes see no conflict', async () => {
  await using strict = await createDatabase(await sharedServerUrl())
  {
    await using sql = connected(strict.url)
    await sql.unsafe(`ALTER DATABASE ${strict.name} SET default_transaction_isolation = 'serializable'`)
    await sql.unsafe(`ALTER DATABASE ${strict.name} SET deadlock_timeout = '10ms'`)
  }
  await using stack = new AsyncDisposableStack()
  const services = await startNodes(strict.url, NODES)
  for (const service of services) stack.use(service)
  const apis = services.map(service => client(() => service.address))
  const [first] = apis
  if (first === undefined) throw new Error('no node')
  const product = await first.create('/products/', sample.product)
  const user = await first.create('/users/', sample.user)
  const storm = await Promise.all(
    Array.from({ length: STORM }, async (_, time) => {
      const api = apis[time % apis.length] ?? first
      const answers = [
        await api.put(`/products/${product}`, { ...sample.product, price: time + 1 }),
        await api.post('/reviews/', sample.review(product, user)),
        await api.patch(`/users/${user}`, { ...KEEPING_PASSWORD, name: `Ada ${time}` }),
        await api.get(`/products/${product}`),
        await api.send('/products/', { method: 'POST', body: JSON.stringify(sample.product), headers: NDJSON }),
      ]
      return answers.map(({ status }) => status)
    }),
  )
  expect(new Set(storm.flat())).toEqual(new Set([200]))
  expect(await listOf(first, `/reviews/products/${product}?limit=10000`)).toHaveLength(STORM)
})

test('a killed node loses nothing acknowledged, and the others go on', async () => {
  await using mine = await createDatabase(await sharedServerUrl())
  await using stack = new AsyncDisposableStack()
  const [killed, ...staying] = await startNodes(mine.url, NODES)
  for (const service of staying) stack.use(service)
  if (killed === undefined) throw new Error('no node')
  const doomed = await Load.start([killed.address])
  const load = await Load.start(staying.map(({ address }) => address))
  await killed.stop('SIGKILL')
  await doomed.cut()
  await load.succeeded()
  await load.stop()
  load.expectGoodAnswers()
  for (const { address } of staying) {
    await load.expectNothingLost(client(() => address))
    await doomed.expectNothingLost(client(() => address))
  }
})

async function startNodes(url: string, count: number): Promise<Service[]> {
  return Promise.all(
    Array.from({ length: count }, () => startService(url, { flags: FLAGS, environment: QUICK_HASHES })),
  )
}

function node(number: number): Client {
  const one = nodes[number % nodes.length]
  if (one === undefined) throw new Error('no node')
  return one
}

async function everywhere(path: string, expectation: (answer: Answer) => void): Promise<void> {
  for (const answer of await Promise.all(nodes.map(api => api.get(path)))) expectation(answer)
}

/** Reviews whose product or user is missing. */
async function orphans(): Promise<number[]> {
  const there = async (path: string) => new Set((await listOf(node(0), `${path}?limit=100000`)).map(({ id }) => id))
  const products = await there('/products/')
  const users = await there('/users/')
  const reviews = z.array(Review).parse((await node(0).get('/reviews/?limit=100000')).body)
  return reviews.filter(({ product, user }) => !products.has(product.id) || !users.has(user.id)).map(({ id }) => id)
}

async function listOf(api: Client, path: string): Promise<{ readonly id: number }[]> {
  return Identified.parse((await api.get(path)).body)
}

function idOf({ body }: Answer): number {
  return z.object({ id: z.int() }).parse(body).id
}
