import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { bearer, revokeKey, startKeyedShop } from '../../../test/harness/catalog/keyed-shop.ts'
import { shelf } from '../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { QUICK_HASHES } from '../../../test/harness/contract.ts'
import { citus, ENGINES, type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const QUIET = ['--access-log', 'off']
/** More than three pages of a follower. */
const LOADED_EVENTS = 3_100
const NDJSON = { 'Content-Type': 'application/x-ndjson' }
const ORIGIN = 'https://shop.example'

/** Two processes on one database. */
interface Shop extends AsyncDisposable {
  readonly url: string
  readonly one: Service
  readonly other: Service
  readonly api: Client
}

async function open(engine: Engine, flags: readonly string[] = []): Promise<Shop> {
  const all = new AsyncDisposableStack()
  const { url } = all.use(await engine.freshDatabase())
  const surroundings = { flags: [...QUIET, ...flags], environment: QUICK_HASHES }
  const [one, other] = [all.use(await startService(url, surroundings)), all.use(await startService(url, surroundings))]
  return { url, one, other, api: client(() => one.address), [Symbol.asyncDispose]: () => all.disposeAsync() }
}

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    test('each change is an event with the short members of what changed, in the same bytes on each process', async () => {
      await using shop = await open(engine)
      const { api } = shop
      await using here = await EventFollower.at(shop.one.address)
      await using there = await EventFollower.at(shop.other.address)
      expect(here.frames[0]).toMatchObject({ event: 'ready', data: { type: 'ready', data: { resumed: false } } })
      await shelf(api)
      await api.create('/products/', { ...sample.product, name: 'A "quoted" näme 🎈', price: 1e-7 })
      await api.put('/products/1', { ...sample.product, price: 5 })
      await api.put('/products/1', { ...sample.product, price: 5 })
      await api.patch('/reviews/1', { ...sample.review(2, 1), rating: 2 })
      await api.send('/reviews/', {
        method: 'POST',
        body: [sample.review(1, 1), sample.review(2, 1)].map(review => JSON.stringify(review)).join('\n'),
        headers: NDJSON,
      })
      const lines = { input: [70, 9].map(id => JSON.stringify({ ...sample.category, id })).join('\n') }
      const imported = ['import', '--database', shop.url, '--resource', 'categories', '--format', 'ndjson', '-']
      expect((await run(imported, lines)).status).toBe(0)
      // None of these changes anything.
      await api.post('/products/', { ...sample.product, price: 0 })
      await api.post('/reviews/', sample.review(1, 99))
      await api.patch('/reviews/1', sample.review(99, 1))
      await api.delete('/users/99')
      for (const path of ['/categories/1', '/reviews/2', '/users/1', '/products/2']) await api.delete(path)

      const events = await here.count(15)
      const name = sample.product.name
      expect(events.map(({ event, data }) => [event, data?.subject, data?.data])).toEqual([
        ['category.created', '/categories/1', { id: 1, name: sample.category.name }],
        ['product.created', '/products/1', { id: 1, name, price: sample.product.price, category_id: 1 }],
        ['user.created', '/users/1', { id: 1 }],
        ['review.created', '/reviews/1', { id: 1, product_id: 1, user_id: 1, rating: sample.review(1, 1).rating }],
        ['product.created', '/products/2', { id: 2, name: 'A "quoted" näme 🎈', price: 1e-7, category_id: null }],
        ['product.updated', '/products/1', { id: 1, name, price: 5, category_id: 1 }],
        ['product.updated', '/products/1', { id: 1, name, price: 5, category_id: 1 }],
        ['review.updated', '/reviews/1', { id: 1, product_id: 2, user_id: 1, rating: 2, from_product_id: 1 }],
        ['reviews.imported', '/reviews/', { count: 2, first_id: 2, last_id: 3 }],
        ['categories.imported', '/categories/', { count: 2, first_id: 9, last_id: 70 }],
        ['category.deleted', '/categories/1', { id: 1 }],
        ['review.deleted', '/reviews/2', { id: 2, product_id: 1, user_id: 1, rating: sample.review(1, 1).rating }],
        ['reviews.deleted', '/reviews/', { user_id: 1, count: 2, product_ids: [2] }],
        ['user.deleted', '/users/1', { id: 1 }],
        ['product.deleted', '/products/2', { id: 2 }],
      ])
      await there.count(15)
      expect(there.text.slice(there.text.indexOf('category.created'))).toBe(
        here.text.slice(here.text.indexOf('category.created')),
      )
    })

    test('a follower resumes on another process and after a restart, and misses nothing', async () => {
      await using shop = await open(engine)
      await using first = await EventFollower.at(shop.one.address)
      await shelf(shop.api)
      await first.count(4)
      const [, { id } = { id: null }] = first.events
      await using second = await EventFollower.at(shop.other.address, '/events?since=start', {
        'Last-Event-ID': id ?? '',
      })
      expect(second.frames[0]).toMatchObject({ event: 'ready', id, data: { data: { resumed: true } } })
      await second.count(2)
      expect(second.types).toEqual(['user.created', 'review.created'])
      for (const service of [shop.one, shop.other]) await service.stop('SIGKILL')
      await using again = await startService(shop.url, { flags: QUIET })
      await using third = await EventFollower.at(again.address, `/events?since=${second.lastId}`)
      await client(() => again.address).create('/categories/', sample.category)
      await third.count(1)
      expect(third.types).toEqual(['category.created'])
      await using all = await EventFollower.at(again.address, '/events?since=start')
      await all.count(5)
      expect(all.frames[0]?.data?.data).toEqual({ resumed: false })
      expect(all.events.map(event => event.id)).toEqual([...first.events, ...third.events].map(event => event.id))
    })

    test('a follower that reads old events while others write gets each event once', async () => {
      await using shop = await open(engine)
      const processes = [shop.one.address, shop.other.address]
      let [created, isDone] = [0, false]
      const writing = [...processes, ...processes, ...processes].map(async address => {
        const api = client(() => address)
        for (; !isDone; created += 1) await api.create('/categories/', sample.category)
      })
      await using followers = new AsyncDisposableStack()
      const following: EventFollower[] = []
      for (let round = 0; round < 20; round += 1) {
        for (const address of processes) {
          following.push(followers.use(await EventFollower.at(address, '/events?since=start')))
        }
      }
      isDone = true
      await Promise.all(writing)
      await using last = await EventFollower.at(shop.one.address, '/events?since=start')
      const ids = (await last.count(created)).map(({ id }) => id)
      for (const follower of following) expect((await follower.count(created)).map(({ id }) => id)).toEqual(ids)
    })

    describe('filters and polls', () => {
      let shop: Shop
      beforeAll(async () => {
        shop = await open(engine)
      })
      afterAll(() => shop[Symbol.asyncDispose]())

      test('filters select by type, resource and product', async () => {
        const { api } = shop
        const next = (await api.create('/products/', sample.product)) + 2
        await using products = await EventFollower.at(
          shop.other.address,
          '/events?types=product,review.deleted&types=reviews.deleted',
        )
        await using second = await EventFollower.at(shop.one.address, `/events?product_id=${next}`)
        const { productId, userId, reviewId } = await shelf(api)
        await using first = await EventFollower.at(shop.one.address, `/events?product_id=${productId}`)
        expect(await api.create('/products/', sample.product)).toBe(next)
        await api.patch(`/reviews/${reviewId}`, sample.review(next, userId))
        await api.send('/categories/', { method: 'POST', body: JSON.stringify(sample.category), headers: NDJSON })
        await api.put(`/products/${productId}`, sample.product)
        await api.send('/products/', { method: 'POST', body: JSON.stringify(sample.product), headers: NDJSON })
        await api.delete(`/users/${userId}`)
        await api.delete(`/products/${next}`)
        await products.count(6)
        expect(products.types).toEqual([
          'product.created',
          'product.created',
          'product.updated',
          'products.imported',
          'reviews.deleted',
          'product.deleted',
        ])
        await second.count(5)
        expect(second.types).toEqual([
          'product.created',
          'review.updated',
          'products.imported',
          'reviews.deleted',
          'product.deleted',
        ])
        // A product loses the review that another one gets.
        await first.count(4)
        expect(first.types).toEqual(['review.updated', 'product.updated', 'products.imported', 'reviews.deleted'])
      })

      test('a poll answers with the next events, waits for the first, and always leads on', async () => {
        const { api } = shop
        const lines = { Accept: 'application/x-ndjson' }
        const poll = async (path: string) => {
          const { headers, body, status } = await api.get(path, lines)
          expect(status).toBe(200)
          const events = String(body)
            .split('\n')
            .filter(line => line !== '')
          const next = /^<(.*)>; rel="next"$/.exec(headers.get('Link') ?? '')?.[1] ?? ''
          return { types: events.map(line => JSON.parse(line).type), next, contentType: headers.get('Content-Type') }
        }
        await api.create('/categories/', sample.category)
        const now = await poll('/events?limit=2')
        expect(now).toMatchObject({ types: [], contentType: 'application/x-ndjson' })
        expect(now.next).toMatch(/^\/events\?since=[A-Za-z0-9._-]{1,40}&limit=2$/)
        expect(await poll(now.next)).toMatchObject({ types: [], next: now.next })
        const { reviewId } = await shelf(api)
        const page = await poll(now.next)
        expect(page.types).toEqual(['category.created', 'product.created'])
        const rest = await poll(page.next)
        expect(rest.types).toEqual(['user.created', 'review.created'])
        const all = (await poll('/events?since=start&limit=1000')).types
        expect((await poll('/events?since=start&types=review')).types).toEqual(
          all.filter(type => type.startsWith('review')),
        )
        expect(all).toContain('review.created')
        const left = await poll(`${page.next}&types=category`)
        expect(left.types).toEqual([])
        expect(left.next).not.toContain(page.next)
        const leaving = new AbortController()
        const waiting = poll(`${rest.next}&wait=60`)
        // One that waits as long for something else.
        const other = fetch(`${shop.one.address}${rest.next}&wait=60&types=category`, {
          headers: lines,
          signal: leaving.signal,
        }).catch(() => null)
        await Bun.sleep(200)
        await client(() => shop.other.address).delete(`/reviews/${reviewId}`)
        expect(await Promise.race([waiting, other])).toMatchObject({ types: ['review.deleted'] })
        leaving.abort()
        await other
        // The search index follows in a transaction of its own, which has no events.
        await api.get('/products/?q=spade')
        const { next } = await waiting
        const inVain = await poll(`${next}&wait=1`)
        expect(inVain.types).toEqual([])
        expect(placeIn(inVain.next)).toBe(placeIn(next))
        expect((await poll('/events?since=of-another-database')).types).toEqual(['reset'])
      })
    })

    test('a follower that begins at the start gets the events of an import that ran before the first service', async () => {
      await using database = await engine.freshDatabase()
      const category = JSON.stringify(sample.category)
      const flags = ['--database', database.url, '--resource', 'categories', '--format', 'ndjson']
      const { status, errors } = await run(['import', ...flags, '-'], { input: category })
      expect(status, errors).toBe(0)
      await using service = await startService(database.url, { flags: QUIET })
      await using follower = await EventFollower.at(service.address, '/events?since=start')
      expect((await follower.count(1)).map(({ event }) => event)).toEqual(['categories.imported'])
    })

    test('old events are removed, and a follower that has missed some has to read everything again', async () => {
      await using shop = await open(engine, ['--events-kept', '20'])
      await using early = await EventFollower.at(shop.one.address)
      for (let count = 0; count < 60; count += 1) await shop.api.create('/categories/', sample.category)
      await early.count(60)
      const kept = async () => {
        const { body } = await shop.api.get('/events?since=start&limit=1000', { Accept: 'application/x-ndjson' })
        return String(body).split('\n').length - 1
      }
      await until(async () => (await kept()) <= 22)
      expect(await kept()).toBeGreaterThanOrEqual(20)
      await using late = await EventFollower.at(shop.other.address, `/events?since=${early.events[0]?.id}`)
      expect(late.frames[0]).toMatchObject({ event: 'reset', id: early.lastId, data: { data: { reason: 'expired' } } })
      await using recent = await EventFollower.at(shop.other.address, `/events?since=${early.events[50]?.id}`)
      await recent.count(9)
      expect(recent.frames[0]).toMatchObject({ event: 'ready' })
    })

    // On Citus, the search index logs no transaction.
    test.skipIf(engine === citus)(
      'a follower whose process was paused goes on, although what it has read last is removed',
      async () => {
        await using shop = await open(engine)
        const { processId } = shop.one
        const api = client(() => shop.other.address)
        await using follower = await EventFollower.at(shop.one.address)
        await api.create('/products/', sample.product)
        await follower.count(1)
        // The search index follows in a transaction of its own, which has no events.
        await api.get('/products/?q=spade')
        const empty = engine === sqlite ? "changes = '[]'" : 'events = 0'
        expect(await engine.read(shop.url, `SELECT 1 FROM change_log WHERE ${empty}`)).not.toEqual([])
        // Until it is read.
        await Bun.sleep(500)
        process.kill(processId, 'SIGSTOP')
        try {
          // As after further ones.
          await engine.write(shop.url, `DELETE FROM change_log WHERE ${empty}`)
          await api.create('/categories/', sample.category)
        } finally {
          process.kill(processId, 'SIGCONT')
        }
        await follower.count(2)
        expect(follower.types).toEqual(['product.created', 'category.created'])
      },
    )

    test('without events to keep there is no feed, and a follower who returns later has missed nothing', async () => {
      await using database = await engine.freshDatabase()
      const environment = QUICK_HASHES
      const [id, user, product] = await (async () => {
        await using service = await startService(database.url, { flags: QUIET, environment })
        const api = client(() => service.address)
        const { productId, userId } = await shelf(api)
        // More than a user shows, so that SQLite deletes them a few at a time.
        const reviews = Array.from({ length: 120 }, () => JSON.stringify(sample.review(productId, userId)))
        await api.send('/reviews/', { method: 'POST', body: reviews.join('\n'), headers: NDJSON })
        await using follower = await EventFollower.at(service.address)
        await api.create('/categories/', sample.category)
        await follower.count(1)
        return [follower.lastId, userId, productId]
      })()
      {
        await using service = await startService(database.url, { flags: [...QUIET, '--events-kept', '0'] })
        const api = client(() => service.address)
        expect(await api.get('/events')).toMatchObject({ status: 404, body: { detail: 'Not Found' } })
        await api.create('/categories/', { ...sample.category, name: 'Meanwhile' })
        expect((await api.delete(`/users/${user}`)).status).toBe(200)
      }
      await using service = await startService(database.url, { flags: QUIET })
      await using follower = await EventFollower.at(service.address, `/events?since=${id}`)
      await follower.count(3)
      expect(follower.frames[0]).toMatchObject({ event: 'ready', data: { data: { resumed: true } } })
      expect(follower.events.map(({ event, data }) => [event, data?.data])).toEqual([
        ['category.created', { id: 3, name: 'Meanwhile' }],
        ['reviews.deleted', { user_id: user, count: 121, product_ids: [product] }],
        ['user.deleted', { id: user }],
      ])
    })

    test('a log whose old rows lack what followers need starts over after them', async () => {
      await using database = await engine.freshDatabase()
      const id = await (async () => {
        await using service = await startService(database.url, { flags: QUIET })
        await using follower = await EventFollower.at(service.address)
        for (const _ of ['told', 'not told'])
          await client(() => service.address).create('/categories/', sample.category)
        await follower.count(2)
        return follower.events[0]?.id
      })()
      const column = engine === sqlite ? 'place' : 'position'
      await engine.write(
        database.url,
        `UPDATE change_log SET tag = 0 WHERE ${column} = (SELECT max(${column}) FROM change_log WHERE events > 0);
        DELETE FROM migrations WHERE name IN ('database_0001', 'catalog_0006_one_log')`,
      )
      await using service = await startService(database.url, { flags: QUIET })
      await using follower = await EventFollower.at(service.address, `/events?since=${id}`)
      expect(follower.frames[0]).toMatchObject({ event: 'reset', data: { data: { reason: 'expired' } } })
      await client(() => service.address).create('/categories/', sample.category)
      await follower.count(1)
      await using late = await EventFollower.at(service.address, '/events?since=start')
      await late.count(1)
      expect(late.events.map(({ id }) => id)).toEqual([follower.lastId])
    })

    test('followers of any worker get all events in the same order', async () => {
      await using database = await engine.freshDatabase()
      await using service = await startService(database.url, { flags: [...QUIET, '--workers', '2'] })
      const api = client(() => service.address)
      const followers = await Promise.all(Array.from({ length: 6 }, () => EventFollower.at(service.address)))
      await Promise.all(Array.from({ length: 100 }, () => api.create('/categories/', sample.category)))
      const ids = await Promise.all(followers.map(async follower => (await follower.count(100)).map(({ id }) => id)))
      for (const seen of ids) expect(seen).toEqual(ids[0] ?? [])
      expect(new Set(ids[0]).size).toBe(100)
      await service.stop()
      for (const follower of followers) await follower.ended()
      // A stop that had to wait for them would have cut them.
      expect(followers.map(({ isCut }) => isCut)).toEqual(followers.map(() => false))
    })
  })
}

describe('on two processes', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await open(sqlite)
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('what a filter cannot be is told in the words of FastAPI', async () => {
    const many = Array.from({ length: 101 }, (_, place) => place).join()
    const { status, body } = await shop.api.get(`/events?types=product,colour&product_id=1,x,&wait=61&limit=0`)
    expect(status).toBe(422)
    const { detail } = body as { detail: { loc: unknown; type: string; msg: string }[] }
    expect(detail.map(({ loc, type }) => [loc, type])).toEqual([
      [['query', 'types', 1], 'literal_error'],
      [['query', 'product_id', 1], 'int_parsing'],
      [['query', 'product_id', 2], 'int_parsing'],
      [['query', 'wait'], 'less_than_equal'],
      [['query', 'limit'], 'greater_than_equal'],
    ])
    expect(detail[0]?.msg).toStartWith("Input should be 'product.created', 'product.updated', ")
    expect(detail[0]?.msg).toEndWith("'reset', 'product', 'category', 'review' or 'user'")
    expect((await shop.api.get(`/events?product_id=${many}`)).body).toEqual({
      detail: [
        {
          type: 'too_long',
          loc: ['query', 'product_id'],
          msg: 'List should have at most 100 items after validation, not 101',
        },
      ],
    })
  })

  test('a follower whose filter leaves everything out is told now and then how far the feed is', async () => {
    await using follower = await EventFollower.at(shop.one.address, '/events?types=review')
    const ready = follower.lastId
    await shop.api.create('/categories/', sample.category)
    await follower.until(frames => frames.length > 1)
    expect(follower.frames[1]).toMatchObject({ event: null, data: null })
    expect(follower.lastId).not.toBe(ready)
    await using resumed = await EventFollower.at(shop.other.address, `/events?since=${follower.lastId}`)
    await shop.api.create('/products/', sample.product)
    await resumed.count(1)
    expect(resumed.types).toEqual(['product.created'])
  })

  test('is a poll if Accept names NDJSON and does not prefer a stream', async () => {
    const stream = 'text/event-stream'
    const lines = 'application/x-ndjson'
    for (const [accept, type] of [
      ['*/*', stream],
      [`${lines};q=0`, stream],
      [`${lines};q=0.5, */*`, stream],
      [`${lines};q=0.5, ${stream}`, stream],
      [`${lines}, */*`, lines],
      [`${lines}, ${stream};q=0`, lines],
      [`${lines}, ${stream};q=0.5`, lines],
      [`application/json, ${lines};q=0.5`, lines],
    ] as const) {
      const { headers } = await shop.api.send('/events', { method: 'HEAD', headers: { Accept: accept } })
      expect({ accept, type: headers.get('Content-Type') }).toEqual({ accept, type })
    }
  })

  test('HEAD is answered as GET, without a stream', async () => {
    const { status, headers } = await shop.api.send('/events', { method: 'HEAD' })
    expect([status, headers.get('Content-Type')]).toEqual([200, 'text/event-stream'])
    // A poll does not wait either.
    const lines = { Accept: 'application/x-ndjson' }
    const now = (await shop.api.get('/events', lines)).headers.get('Link')?.match(/^<(.*)>/)?.[1]
    const quick = { method: 'HEAD', headers: lines, signal: AbortSignal.timeout(30_000) }
    const poll = await fetch(`${shop.one.address}${now}&wait=60`, quick)
    expect([poll.status, poll.headers.get('Content-Type')]).toEqual([200, lines.Accept])
  })

  test('without CORS_ORIGINS, no page of another origin may read the stream or a poll', async () => {
    for (const accept of ['text/event-stream', 'application/x-ndjson']) {
      const headers = await headersOf(shop.one.address, { Accept: accept, Origin: ORIGIN })
      expect(headers.get('Content-Type'), accept).toBe(accept)
      expect(
        [...headers.keys()].filter(name => name.startsWith('access-control-')),
        accept,
      ).toEqual([])
    }
  })
})

// Each engine loses a revoked key as fast: the tests of access keys show it.
test('a key may follow what it may read, and a revoked one no longer', async () => {
  await using shop = await startKeyedShop(sqlite, QUIET)
  const path = `${shop.service.address}/events`
  expect((await fetch(path)).status).toBe(401)
  expect((await fetch(`${path}?types=user`, { headers: bearer(shop.keys.write) })).status).toBe(403)
  expect((await fetch(`${path}?types=users.imported`, { headers: bearer(shop.keys.write) })).status).toBe(403)
  {
    await using _ = await EventFollower.at(shop.service.address, '/events', bearer(shop.keys.read))
  }
  // The service looks once a second for followers, until there are none.
  await Bun.sleep(1_100)
  await using reader = await EventFollower.at(shop.service.address, '/events', bearer(shop.keys.read))
  await using owner = await EventFollower.at(shop.service.address, '/events?types=user', bearer(shop.keys.admin))
  // Like the reader's, but for the key.
  await using all = await EventFollower.at(shop.service.address, '/events', bearer(shop.keys.admin))
  await shelf(shop.api.admin)
  await shop.api.admin.delete('/users/1')
  await reader.count(4)
  await owner.count(2)
  await all.count(6)
  expect(reader.types).toEqual(['category.created', 'product.created', 'review.created', 'reviews.deleted'])
  expect(owner.types).toEqual(['user.created', 'user.deleted'])
  const waiting = fetch(`${path}?since=${reader.lastId}&wait=30`, {
    headers: { ...bearer(shop.keys.read), Accept: 'application/x-ndjson' },
  })
  await revokeKey(shop.url, 'reader')
  await reader.ended()
  await shop.api.admin.create('/categories/', sample.category)
  expect((await waiting).status).toBe(401)
  expect(owner.isEnded).toBe(false)
})

test('after the restore of a backup, an id that is not in it is unknown, and an older one goes on', async () => {
  await using database = await sqlite.freshDatabase()
  const [backup, address] = [`${database.url.slice('sqlite:'.length)}.backup`, ['--database', database.url]]
  const [before, after] = await (async () => {
    await using service = await startService(database.url, { flags: QUIET })
    const api = client(() => service.address)
    await using follower = await EventFollower.at(service.address)
    await api.create('/categories/', sample.category)
    const [{ id: before } = { id: null }] = await follower.count(1)
    expect((await run(['backup', ...address, backup])).status).toBe(0)
    await api.create('/categories/', sample.category)
    await follower.count(2)
    return [before, follower.lastId]
  })()
  expect(await run(['restore', ...address, backup])).toMatchObject({ status: 0 })
  await using service = await startService(database.url, { flags: QUIET })
  const api = client(() => service.address)
  await api.create('/products/', sample.product)
  await using unknown = await EventFollower.at(service.address, `/events?since=${after}`)
  expect(unknown.frames[0]).toMatchObject({ event: 'reset', data: { data: { reason: 'unknown' } } })
  await using known = await EventFollower.at(service.address, `/events?since=${before}`)
  await known.count(1)
  expect(known.types).toEqual(['product.created'])
})

test('a follower of a loaded database reads it page by page, each event once and in order', async () => {
  await using shop = await open(sqlite)
  await Promise.all(Array.from({ length: LOADED_EVENTS }, () => shop.api.create('/categories/', sample.category)))
  await using late = await EventFollower.at(shop.other.address, '/events?since=start')
  await using late2 = await EventFollower.at(shop.one.address, '/events?since=start')
  const more = Promise.all(Array.from({ length: 300 }, () => shop.api.create('/categories/', sample.category)))
  await late.count(LOADED_EVENTS + 300)
  await late2.count(LOADED_EVENTS + 300)
  await more
  expect(late.events.map(({ data }) => data?.data.id)).toEqual(
    Array.from({ length: LOADED_EVENTS + 300 }, (_, place) => place + 1),
  )
  expect(late2.events.map(({ id }) => id)).toEqual(late.events.map(({ id }) => id))
})

test('with CORS_ORIGINS, a page of a listed origin may read the stream and polls, and what a poll leads to', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: [...QUIET, '--cors-origins', ORIGIN] })
  for (const accept of ['text/event-stream', 'application/x-ndjson']) {
    const listed = await headersOf(service.address, { Accept: accept, Origin: ORIGIN })
    expect(listed.get('Content-Type'), accept).toBe(accept)
    expect(listed.get('Access-Control-Allow-Origin'), accept).toBe(ORIGIN)
    expect(
      listed
        .get('Access-Control-Expose-Headers')
        ?.toLowerCase()
        .split(/\s*,\s*/),
      accept,
    ).toContain('link')
    const other = await headersOf(service.address, { Accept: accept, Origin: 'https://evil.example' })
    expect(other.get('Access-Control-Allow-Origin'), accept).toBeNull()
    for (const headers of [listed, other]) {
      const vary = headers
        .get('Vary')
        ?.toLowerCase()
        .split(/\s*,\s*/)
      expect(vary, accept).toEqual(expect.arrayContaining(['accept', 'origin']))
    }
  }
  const preflight = await client(() => service.address).send('/events', {
    method: 'OPTIONS',
    headers: {
      Origin: ORIGIN,
      'Access-Control-Request-Method': 'GET',
      'Access-Control-Request-Headers': 'authorization,last-event-id',
    },
  })
  expect([preflight.status, preflight.headers.get('Access-Control-Allow-Origin')]).toEqual([204, ORIGIN])
  expect(preflight.headers.get('Access-Control-Allow-Headers')?.toLowerCase()).toContain('last-event-id')
})

/** The id that a `Link` leads on from. */
function placeIn(next: string): string | null {
  return new URLSearchParams(next.slice(next.indexOf('?'))).get('since')
}

/** The headers of `/events`, of which nothing is read. */
async function headersOf(address: string, headers: Record<string, string>): Promise<Headers> {
  const leaving = new AbortController()
  const response = await fetch(`${address}/events`, { headers, signal: leaving.signal })
  leaving.abort()
  return response.headers
}
