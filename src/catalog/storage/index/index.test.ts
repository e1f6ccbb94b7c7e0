import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { SQL } from 'bun'
import { z } from 'zod'
import { cacheFigures } from '../../../../test/harness/catalog/cache-figures.ts'
import { startKeyedShop } from '../../../../test/harness/catalog/keyed-shop.ts'
import { getAtLast, idsOf } from '../../../../test/harness/catalog/list-pages.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { QUICK_HASHES, withEachEngine } from '../../../../test/harness/contract.ts'
import { copied } from '../../../../test/harness/copy/copied.ts'
import { migrated } from '../../../../test/harness/copy/odd-shop.ts'
import { citus, ENGINES, type Engine, postgres, sqlite } from '../../../../test/harness/engines.ts'
import { connected } from '../../../../test/harness/postgres/database.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { run, type Service, startService, WITH_FAST_CLOCK } from '../../../../test/harness/service.ts'
import { temporaryFolder } from '../../../../test/harness/temporary-folder.ts'
import { until } from '../../../../test/harness/until.ts'
import { openDatabase } from '../../../database/open.ts'
import { database as databaseSetting } from '../../../database/settings.ts'
import { openSqlite } from '../../../database/sqlite/open.ts'
import { catalogMigrations } from '../../migrations/index.ts'
import { PRODUCTS } from '../../products/stored.ts'
import { sqliteIndexSlices } from '../sqlite/index-slices.ts'
import { INDEX_FORM } from './facts.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const NDJSON = { 'Content-Type': 'application/x-ndjson' }
const CLIENTS = 8
const STEPS = 8
/** So many that a process takes many slices to index them. */
const MANY = 6_000
/** The size of a page of words on SQLite, and what its last word may take beyond it. */
const WORD_PAGE_BYTES_MAX = 1_100
/** Notes of one row, and the commits in which a process may take them. */
const NOTES_OF_ONE = 3_000
const COMMITS_MAX = 10
/** More rows than a process indexes on its event loop, in more than one slice. */
const ON_A_THREAD = 400
/** More than may wait for facets, or for the thread of long reads. */
const AT_ONCE = 200
/** Facets that are counted, or may wait for that. */
const FACETS_AT_ONCE_MAX = 65
const TOO_MANY_FACETS = 'Too many facets are waiting to be counted'

const Words = z.object({ detail: z.string() })
const Named = z.object({ name: z.string() })

withEachEngine('the index', engine => {
  describe('on two nodes', () => {
    let shop: Nodes
    let nodes: readonly [Client, Client]
    beforeAll(async () => {
      shop = await startNodes(engine, 2)
      nodes = pairOf(shop)
    })
    afterAll(() => shop[Symbol.asyncDispose]())

    test('shows each write to the next search on any node', async () => {
      const [one, other] = nodes
      for (const [writer, reader] of [nodes, [other, one]] as const) {
        const category = await writer.create('/categories/', sample.category)
        const id = await writer.create(`/products/${category}/products`, {
          ...sample.product,
          name: 'Hoealpha',
          price: 3,
        })
        const is = async (query: string, isFound: boolean) =>
          expect(await foundBy(reader, query), query).toEqual(isFound ? [id] : [])
        await is('q=hoealpha', true)
        await is(`q=hoealpha&category_id=${category}&max_price=3`, true)
        await writer.put(`/products/${id}`, { ...sample.product, name: 'Hoebeta', price: 7 })
        await is('q=hoealpha', false)
        await is('q=hoebeta&min_price=7', true)
        await is('q=hoebeta&max_price=6', false)
        await writer.put(`/products/${id}`, { ...sample.product, name: 'Hoebeta', description: 'Hoegamma', price: 7 })
        await is('q=hoegamma', true)
        await writer.delete(`/categories/${category}`)
        await is(`q=hoegamma&category_id=${category}`, false)
        await is('q=hoegamma&category_id=0&min_price=1', true)
        await writer.delete(`/products/${id}`)
        await is('q=hoegamma', false)
        expect((await reader.get('/products/?q=hoegamma&count=9')).headers.get('X-Total-Count')).toBe('0')
      }
    })

    // Citus has no cache.
    test.skipIf(engine === citus)(
      'answers many equal requests at once, as they come when many pages follow a change',
      async () => {
        const [api] = nodes
        for (const path of [
          '/products/?q=hoeomega&count=1000',
          '/facets/products?q=hoeomega',
          '/products/?sort=-price',
        ]) {
          const id = await api.create('/products/', { ...sample.product, name: 'Hoeomega' })
          const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => api.get(path)))
          for (const { status, body } of answers) {
            expect(status, path).toBe(200)
            expect(JSON.stringify(body), path).toBe(JSON.stringify(answers[0]?.body))
          }
          await api.delete(`/products/${id}`)
        }
      },
    )

    if (engine === postgres) {
      test('shows a write while an equal request from before it is being answered', async () => {
        const [one, other] = nodes
        const category = await one.create('/categories/', sample.category)
        await one.create(`/products/${category}/products`, { ...sample.product, name: 'Hoedelta' })
        expect(await foundBy(one, 'q=hoedelta')).toHaveLength(1)
        await using sql = connected(shop.url)
        await sql.unsafe(`ALTER TABLE product_facts RENAME TO facts;
          CREATE VIEW product_facts AS SELECT facts.* FROM facts CROSS JOIN pg_advisory_xact_lock_shared(1)`)
        // The node then knows of all this.
        expect(await foundBy(one, 'q=hoedelta')).toHaveLength(1)
        await sql`SELECT pg_advisory_lock(1)`
        const path = '/facets/products?q=hoedelta&facets=category_id'
        const before = one.get(path)
        const counting = () =>
          sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`
        await until(async () => (await counting()).length > 0)
        await other.put(`/categories/${category}`, { ...sample.category, name: 'Indoors' })
        const after = one.get(path)
        // Until it is there, too. If it comes later, it shows the same.
        await Bun.sleep(200)
        const counted = await counting()
        await sql`SELECT pg_advisory_unlock(1)`
        const [{ body }] = await Promise.all([after, before])
        await sql.unsafe('DROP VIEW product_facts; ALTER TABLE facts RENAME TO product_facts')
        expect(body).toEqual({ count: 1, category_id: [{ value: category, name: 'Indoors', count: 1 }] })
        // One after another, so that other searches need not wait for all facets that are asked for.
        expect(counted).toHaveLength(1)
      })
    }

    test('shows each change of ratings, also those that go with a user or with a moved review', async () => {
      const [writer, reader] = nodes
      const [one, other] = [
        await writer.create('/products/', sample.product),
        await writer.create('/products/', sample.product),
      ]
      const [ada, bob] = [await writer.create('/users/', sample.user), await writer.create('/users/', sample.user)]
      const found = async (query: string) =>
        (await foundBy(reader, `limit=1000&${query}`)).filter(id => id === one || id === other)
      const best = async (...ids: number[]) => expect(await found('sort=-rating')).toEqual(ids)
      const above = async (stars: number, ...ids: number[]) => expect(await found(`min_rating=${stars}`)).toEqual(ids)
      await best(other, one)
      const review = await writer.create('/reviews/', { ...sample.review(one, ada), rating: 5 })
      await best(one, other)
      await above(5, one)
      await writer.create('/reviews/', { ...sample.review(other, bob), rating: 4 })
      expect(await found('sort=-reviews')).toEqual([other, one])
      await writer.patch(`/reviews/${review}`, { ...sample.review(one, ada), rating: 1 })
      await best(other, one)
      await above(4, other)
      await writer.patch(`/reviews/${review}`, { ...sample.review(other, ada), rating: 1 })
      await above(4)
      expect(await found('sort=reviews')).toEqual([one, other])
      await writer.delete(`/users/${ada}`)
      await above(4, other)
      await writer.delete(`/products/${other}`)
      await best(one)
    })

    // Distributed tables have no triggers to note it.
    test.skipIf(engine === citus)('shows what other programs change with SQL, ids included', async () => {
      const [api] = nodes
      await using sql = connected(shop.url)
      await sql`INSERT INTO products (name, price, description) VALUES ('Axealpha', 1, ''), ('Axebeta', 2, '')`
      const [alpha = 0, beta = 0] = await foundBy(api, 'q=axe')
      expect(await namesOf(api, [alpha, beta])).toEqual(['Axealpha', 'Axebeta'])
      await sql`UPDATE products SET name = 'Axegamma', price = 3 WHERE id = ${alpha}`
      expect(await foundBy(api, 'q=axe&sort=-price')).toEqual([alpha, beta])
      expect(await foundBy(api, 'q=axealpha')).toEqual([])
      await sql`UPDATE products SET id = 70000 WHERE id = ${alpha}`
      expect(await foundBy(api, 'q=axegamma')).toEqual([70_000])
      expect(await foundBy(api, 'q=axe&sort=price')).toEqual([beta, 70_000])
      await sql`DELETE FROM products WHERE id = 70000`
      expect(await foundBy(api, 'q=axe')).toEqual([beta])
      await sql`UPDATE products SET name = 'Axedelta' WHERE name LIKE 'Axe%'`
      expect(await foundBy(api, 'q=axedelta')).toEqual([beta])
      // Ids of rows that are gone, and ids that no row ever had.
      await sql`INSERT INTO products (id, name, price, description)
        VALUES (${alpha}, 'Axezeta', 3, ''), (70000, 'Axezeta', 2, ''), (60000, 'Axezeta', 1, ''), (-1, 'Axezeta', 4, '')`
      expect(await foundBy(api, 'q=axezeta&sort=price')).toEqual([60_000, 70_000, alpha, -1])
    })

    test('has a row as it is when it is searched for first, though it was changed or deleted before', async () => {
      const [one, other] = nodes
      const user = await one.create('/users/', sample.user)
      const create = (name: string) => one.create('/products/', { ...sample.product, name, price: 5 })
      const [kept, renamed, gone, last] = [
        await create('Ivyalpha'),
        await create('Ivyalpha'),
        await create('Ivyalpha'),
        await create('Ivyalpha'),
      ]
      await one.put(`/products/${renamed}`, { ...sample.product, name: 'Ivybeta', price: 6 })
      await one.create('/reviews/', { ...sample.review(kept, user), rating: 5 })
      await one.delete(`/products/${gone}`)
      await one.delete(`/products/${last}`)
      expect(await foundBy(other, 'q=ivyalpha')).toEqual([kept])
      expect(await foundBy(other, 'q=ivybeta&min_price=6')).toEqual([renamed])
      expect(await foundBy(other, 'q=ivy&min_rating=5')).toEqual([kept])
    })

    test('shows lines that were posted or imported', async () => {
      const [api] = nodes
      const line = (name: string) => `${JSON.stringify({ ...sample.product, name })}\n`
      const body = line('Sawalpha') + line('Sawbeta')
      expect((await api.send('/products/', { method: 'POST', headers: NDJSON, body })).status).toBe(200)
      const posted = await foundBy(api, 'q=saw')
      expect(await namesOf(api, posted)).toEqual(['Sawalpha', 'Sawbeta'])
      using folder = temporaryFolder()
      await Bun.write(join(folder.path, 'products.ndjson'), line('Sawgamma'))
      const { status } = await run(['import', '--database', shop.url, 'products.ndjson'], { folder: folder.path })
      expect(status).toBe(0)
      const all = await foundBy(api, 'q=saw')
      expect(all).toEqual([...posted, expect.any(Number)])
      expect(await namesOf(api, all)).toEqual(['Sawalpha', 'Sawbeta', 'Sawgamma'])
    })

    test('shows its own write to each of many clients at once, and ends up with exactly the rows', async () => {
      const [one, other] = nodes
      const clients = Array.from({ length: CLIENTS }, async (_, place) => {
        for (let step = 0; step < STEPS; step += 1) {
          const word = `own${place}x${step}y`
          const [writer, reader] = step % 2 === 0 ? nodes : [other, one]
          const id = await writer.create('/products/', { ...sample.product, name: word, price: place + 1 })
          expect(await foundAtLast(reader, `q=${word}`)).toEqual([id])
          if (step % 3 > 0) continue
          const path = `/products/${id}`
          expect((await (step % 2 === 0 ? reader.delete(path) : reader.put(path, sample.product))).status).toBe(200)
          expect(await foundAtLast(writer, `q=${word}`)).toEqual([])
        }
      })
      await Promise.all(clients)
      for (const api of nodes) {
        const rows = idsOf(await api.get('/products/?limit=1000'))
        for (const sort of ['name', 'price', 'rating']) {
          expect((await foundBy(api, `limit=1000&sort=${sort}`)).toSorted((a, b) => a - b)).toEqual(rows)
        }
      }
    })
  })

  // No distributed database is so old.
  test.skipIf(engine === citus)('is made for a database from before there was one', async () => {
    await using database = await engine.freshDatabase()
    const older = {
      ...catalogMigrations,
      sqlite: catalogMigrations.sqlite.slice(0, 2),
      postgres: catalogMigrations.postgres.slice(0, 2),
    }
    {
      const address = databaseSetting.parse(database.url)
      await using opened = await openDatabase({ address }, [older])
      await opened.ready
      await using sql = connected(database.url)
      await sql`INSERT INTO products (name, price, description) VALUES ('Rake', 2, 'Old'), ('Spade', 1, 'Old')`
      await sql`INSERT INTO categories (name, description) VALUES ('Oldgarden', '')`
    }
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    expect(await foundBy(api, 'q=old')).toEqual([1, 2])
    expect(await foundBy(api, 'sort=price')).toEqual([2, 1])
    expect(idsOf(await api.get('/categories/?q=oldg'))).toEqual([1])
  })

  test('is made again if it has another form, in the background too, and by two processes at once', async () => {
    await using shop = await outdated(engine, 40)
    await using services = await started(shop.url, 2)
    for (const api of services.apis) expect(await foundBy(api, 'q=many&limit=1000')).toHaveLength(40)
    await services[Symbol.asyncDispose]()
    await forget(shop.url)
    await using alone = await startService(shop.url, { flags: FLAGS })
    await until(async () => Number((await stateOf(engine, shop.url))?.is_built) === 1)
    expect(
      await foundBy(
        client(() => alone.address),
        'q=many&limit=1000',
      ),
    ).toHaveLength(40)
  })

  test.skipIf(engine === citus)('has no row that was deleted before it was made again', async () => {
    await using shop = await outdated(engine, 3)
    await using services = await started(shop.url, 1)
    for (const api of services.apis) expect(await foundBy(api, 'q=many')).toEqual([1, 2, 3])
    await services[Symbol.asyncDispose]()
    await using sql = connected(shop.url)
    await sql`DELETE FROM products WHERE id = 2`
    await sql`UPDATE index_form SET number = 0`
    await using again = await started(shop.url, 1)
    for (const api of again.apis) expect(await foundBy(api, 'q=many')).toEqual([1, 3])
    expect(Number((await stateOf(engine, shop.url))?.indexed)).toBe(2)
  })

  test('is completed by two processes after one was killed while it was being built', async () => {
    await using shop = await outdated(engine, MANY)
    await until(async () => {
      const first = await startService(shop.url, { flags: FLAGS })
      await until(async () => Number((await stateOf(engine, shop.url))?.indexed) > 0)
      await first.stop('SIGKILL')
      const { indexed, is_built } = (await stateOf(engine, shop.url)) ?? {}
      if (Number(indexed) < MANY && Number(is_built) === 0) return true
      // The machine paused, and the process completed it.
      await forget(shop.url)
      return false
    })
    await using services = await started(shop.url, 2)
    for (const api of services.apis) {
      await until(async () => (await api.get('/products/?q=many')).status === 200)
      const { headers } = await api.get('/products/?q=many&count=1000000')
      expect(headers.get('X-Total-Count')).toBe(String(MANY))
      const path = '/products/?sort=-price&count=1000000&limit=2'
      expect((await api.get(path)).headers.get('X-Total-Count')).toBe(String(MANY))
      expect(idsOf(await api.get(path))).toEqual([MANY, MANY - 1])
      // A word that only one of the last rows has.
      const rare = await api.get(`/products/?q=${MANY - 1}&count=9`)
      expect([idsOf(rare), rare.headers.get('X-Total-Count')]).toEqual([[MANY - 1], '1'])
    }
  })

  test('is completed in the background beside steady writes, though nobody searches', async () => {
    await using shop = await outdated(engine, MANY)
    await using service = await startService(shop.url, { flags: FLAGS })
    const api = client(() => service.address)
    let isBuilt = false
    const writing = (async () => {
      for (let price = 1; !isBuilt; price += 1) {
        expect((await api.put('/products/1', { ...sample.product, price })).status).toBe(200)
      }
    })()
    await until(async () => {
      const { is_built, indexed } = (await stateOf(engine, shop.url)) ?? {}
      isBuilt = Number(is_built) === 1 && Number(indexed) === MANY
      return isBuilt
    })
    await writing
  })

  test('is never far behind steady writes, though nobody searches', async () => {
    await using shop = await outdated(engine, 20)
    await engine.write(
      shop.url,
      `UPDATE index_form SET number = ${INDEX_FORM}, is_built = ${engine === sqlite ? 1 : true}`,
    )
    await engine.write(
      shop.url,
      `INSERT INTO index_notes (part, id)
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${engine === sqlite ? 40_000 : 15_000}) SELECT 'products', 1 + i % 20 FROM n`,
    )
    await using service = await startService(shop.url, { flags: FLAGS })
    const api = client(() => service.address)
    let price = 0
    await until(async () => {
      price += 1
      expect((await api.put('/products/1', { ...sample.product, price })).status).toBe(200)
      return Number((await stateOf(engine, shop.url))?.notes) < 6_000
    })
    // With one slice a second, SQLite takes at least 33 s, in which there are several hundred of these writes.
    expect(price).toBeWithin(2, 200)
  })

  test('asks to come back while it is being built or catches up; lists by id, single reads and ratings do not wait', async () => {
    await using shop = await outdated(engine, 3)
    const lock = await lockedOut(engine, shop.url)
    await using service = await startService(shop.url, { flags: FLAGS })
    const api = client(() => service.address)
    const expectBusy = async (detail: string, retryAfter: string) => {
      const paths = ['?q=many', '?sort=price', '?min_price=1', '?min_rating=2', '?q=many&sort=id']
      const answers = await Promise.all(paths.map(path => api.get(`/products/${path}`)))
      for (const { status, body, headers } of answers) {
        expect({ status, detail: Words.parse(body).detail }).toEqual({ status: 503, detail })
        expect(headers.get('Retry-After')).toBe(retryAfter)
      }
      for (const path of [
        '/products/',
        '/products/?limit=2',
        '/products/?sort=-id',
        '/products/?id=1,2',
        '/products/1',
      ]) {
        expect((await api.get(path)).status, path).toBe(200)
      }
      expect((await api.get('/ratings/products/1')).status).toBe(200)
      expect((await api.get('/products/?category_id=0')).status).toBe(200)
      expect((await api.get('/products/?fields=*,rating')).status).toBe(200)
    }
    for (const _ of [1, 2]) await expectBusy('The search index is being built', '5')
    await lock.release()
    await until(async () => (await api.get('/products/?q=many')).status === 200)
    const again = await lockedOut(
      engine,
      shop.url,
      "INSERT INTO products (id, name, price, description) VALUES (4, 'Many', 9, '')",
    )
    await expectBusy('The search index is catching up', '1')
    const crowd = new AbortController()
    const facets = Array.from({ length: FACETS_AT_ONCE_MAX + 1 }, (_, place) =>
      api.send(`/facets/products?min_price=${place}`, { signal: crowd.signal }),
    )
    // The others wait for the index, one after another.
    const { status, body, headers } = await Promise.race(facets)
    expect({ status, detail: Words.parse(body).detail }).toEqual({ status: 503, detail: TOO_MANY_FACETS })
    expect(headers.get('Retry-After')).toBe('1')
    crowd.abort()
    await Promise.allSettled(facets)
    await again.release()
    await until(async () => (await api.get('/products/?q=many')).status === 200)
    expect(await foundBy(api, 'q=many&sort=-price&limit=1')).toEqual([4])
  })

  test('is complete after seed, import and copy', async () => {
    await using database = await engine.freshDatabase()
    const sizes = ['--categories', '3', '--products', '50', '--users', '5', '--reviews', '60']
    expect((await run(['seed', '--database', database.url, ...sizes], { environment: QUICK_HASHES })).errors).toContain(
      'search index: ',
    )
    await expectComplete(engine, database.url, 50)
    using folder = temporaryFolder()
    await Bun.write(join(folder.path, 'products.ndjson'), `${JSON.stringify(sample.product)}\n`)
    await run(['import', '--database', database.url, 'products.ndjson'], { folder: folder.path })
    await expectComplete(engine, database.url, 51)
    for (const target of ENGINES) {
      await using copy = await target.freshDatabase()
      await copied(database.url, copy.url)
      await expectComplete(target, copy.url, 51)
    }
  })
})

test('on PostgreSQL, an import of most products rebuilds the search index, with the rows of other programs, and leaves it as it was', async () => {
  const indexes = "SELECT indexdef FROM pg_indexes WHERE tablename LIKE '%_facts' ORDER BY indexname"
  await using database = await postgres.freshDatabase()
  using folder = temporaryFolder()
  const imported = async (names: readonly string[]) => {
    const lines = names.map(name => `${JSON.stringify({ ...sample.product, name })}\n`)
    await Bun.write(join(folder.path, 'products.ndjson'), lines.join(''))
    return (await run(['import', '--database', database.url, 'products.ndjson'], { folder: folder.path })).errors
  }
  await imported(['Anewest'])
  const ofAnotherProgram =
    "INSERT INTO products (id, name, description, price) OVERRIDING SYSTEM VALUE VALUES (-1, 'Anew below zero', '', 1)"
  await postgres.write(database.url, 'DELETE FROM products')
  await postgres.write(database.url, ofAnotherProgram)
  await postgres.write(
    database.url,
    "INSERT INTO categories (id, name, description) OVERRIDING SYSTEM VALUE VALUES (9007199254740993, 'Anew above', '')",
  )
  const before = await postgres.read(database.url, indexes)
  // Row by row, the deleted one would count, too.
  expect(await imported(Array.from({ length: 1_100 }, (_, at) => `Anew ${at}`))).toContain('search index: 1102')
  // Without VACUUM, it would have the deleted notes, and all searches would step over them.
  expect(await postgres.read(database.url, "SELECT pg_relation_size('index_notes')::int AS bytes")).toEqual([
    { bytes: 0 },
  ])
  await expectComplete(postgres, database.url, 1_101)
  expect(await postgres.read(database.url, indexes)).toEqual(before)
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  expect(idsOf(await api.get('/products/?q=anewest'))).toEqual([])
  expect(idsOf(await api.get('/products/?q=anew+1099'))).toBeArrayOfSize(1)
  expect(idsOf(await api.get('/products/?q=anew+below'))).toEqual([-1])
})

test('on PostgreSQL, an import that is to rebuild the search index waits for the process that writes it', async () => {
  await using database = await postgres.freshDatabase()
  await run(['seed', '--database', database.url, '--products', '5', '--users', '1', '--reviews', '0'], {
    environment: QUICK_HASHES,
  })
  using folder = temporaryFolder()
  const lines = Array.from({ length: 1_100 }, () => `${JSON.stringify(sample.product)}\n`)
  await Bun.write(join(folder.path, 'products.ndjson'), lines.join(''))
  // Row by row, this one would count, too.
  await postgres.write(database.url, 'DELETE FROM products WHERE id = 1')
  const { release } = await lockedOut(postgres, database.url)
  const importing = run(['import', '--database', database.url, 'products.ndjson'], { folder: folder.path })
  const waiting = `
    SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE datname = current_database() AND locktype = 'advisory' AND objid = 5365741 AND NOT granted`
  await until(async () => (await postgres.read(database.url, waiting)).length > 0)
  await release()
  const [rows] = await postgres.read<{ number: number }>(
    database.url,
    'SELECT ((SELECT count(*) FROM products) + (SELECT count(*) FROM categories) + (SELECT count(*) FROM users))::int AS number',
  )
  expect((await importing).errors).toContain(`search index: ${rows?.number}\n`)
})

test('on PostgreSQL, an import that may not rebuild the search index takes each row', async () => {
  await using database = await migrated(postgres)
  const name = `clerk_${crypto.randomUUID().replaceAll('-', '')}`
  await using sql = connected(database.url)
  await sql.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'sesame';
    GRANT CREATE ON SCHEMA public TO ${name};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${name};
    GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO ${name}`)
  const url = new URL(database.url)
  url.username = name
  url.password = 'sesame'
  const lines = Array.from({ length: 1_100 }, () => `${JSON.stringify(sample.product)}\n`)
  const file = ['import', '--database', url.href, '--resource', 'products', '--format', 'ndjson', '-']
  expect((await run(file, { input: lines.join('') })).errors).toContain('search index: 1100')
  await expectComplete(postgres, database.url, 1_100)
  await sql.unsafe(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
})

test('on PostgreSQL, an import completes the search index while it is being vacuumed, as after the import of another process', async () => {
  await using database = await migrated(postgres)
  await using sql = connected(database.url)
  await sql.unsafe('BEGIN; LOCK TABLE product_facts IN SHARE UPDATE EXCLUSIVE MODE')
  const file = ['import', '--database', database.url, '--resource', 'products', '--format', 'ndjson', '-']
  expect((await run(file, { input: JSON.stringify(sample.product) })).errors).not.toContain('not complete')
  await sql`COMMIT`
  await expectComplete(postgres, database.url, 1)
})

test('on PostgreSQL, a page of a search is found however far apart its ids are', async () => {
  await using database = await postgres.freshDatabase()
  const lines = [1, 2 ** 52].map(id => `${JSON.stringify({ ...sample.product, id })}\n`)
  const file = ['import', '--database', database.url, '--resource', 'products', '--format', 'ndjson', '-']
  expect(await run(file, { input: lines.join('') })).toMatchObject({ status: 0 })
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  expect(idsOf(await api.get('/products/?q=spade&limit=1000'))).toEqual([1, 2 ** 52])
})

test('on PostgreSQL, a list that has begun when an import rebuilds the search index has all products', async () => {
  await using database = await postgres.freshDatabase()
  await using service = await startService(`${database.url}?application_name=serve`, {
    flags: [...FLAGS, '--database-connections', '2'],
  })
  const api = client(() => service.address)
  const old = await api.create('/products/', { ...sample.product, price: 1 })
  expect(idsOf(await api.get('/products/?sort=price'))).toEqual([old])
  await using sql = connected(database.url)
  // Its statements wait here without a lock, whose time limit is shorter.
  await sql.unsafe(`CREATE FUNCTION gate() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
      WHILE current_setting('application_name') = 'serve' AND NOT pg_try_advisory_xact_lock_shared(1) LOOP
        PERFORM pg_sleep(0.005);
      END LOOP;
      RETURN 1;
    END $$;
    ALTER TABLE categories RENAME TO of_gate;
    CREATE VIEW categories AS SELECT of_gate.* FROM of_gate CROSS JOIN gate()`)
  await sql`SELECT pg_advisory_lock(1)`
  await using log = connected(database.url)
  await log.unsafe('BEGIN; LOCK TABLE change_log IN SHARE MODE')
  const lines = Array.from({ length: 1_100 }, () => `${JSON.stringify(sample.product)}\n`)
  const file = ['import', '--database', database.url, '--resource', 'products', '--format', 'ndjson', '-']
  const importing = run(file, { input: lines.join('') })
  const waits = async (table: string) =>
    (await sql`SELECT FROM pg_locks WHERE relation = ${table}::regclass AND NOT granted`).length > 0
  await until(() => waits('change_log'))
  const facets = api.get('/facets/products?q=spade')
  const sleeping = () => sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`
  await until(async () => (await sleeping()).length > 0)
  // It has found the index complete, and waits for the facets.
  const list = api.get('/products/?sort=price&limit=1')
  await api.get('/products/?id=1,2')
  await log.unsafe('COMMIT')
  await until(() => waits('product_facts'))
  await sql`SELECT pg_advisory_unlock(1)`
  await facets
  const { status, body, headers } = await list
  // On a slow machine, the rebuild takes longer than a list waits.
  if (status !== 503) expect(idsOf({ status, body, headers })).toEqual([old])
  expect((await importing).errors).toContain('search index: 1101')
})

// Who may search is decided before the database is asked.
test('the index is shown to those who may read, e-mail addresses to admins alone', async () => {
  await using shop = await startKeyedShop(sqlite)
  const { admin, write, read, without } = shop.api
  await admin.create('/users/', { ...sample.user, email: 'ada@secretmail.example' })
  await write.create('/products/', sample.product)
  expect(idsOf(await admin.get('/users/?q=secretmail'))).toEqual([1])
  for (const path of ['/users/?q=secretmail', '/users/?sort=name', '/users/?q=ada&count=10']) {
    expect((await read.get(path)).status).toBe(403)
    expect((await write.get(path)).status).toBe(403)
    expect((await without.get(path)).status).toBe(401)
  }
  expect(idsOf(await read.get('/products/?q=spade'))).toEqual([1])
  expect(idsOf(await read.get('/products/?q=secretmail'))).toEqual([])
  expect((await without.get('/products/?q=spade')).status).toBe(401)
})

for (const engine of ENGINES) {
  test.skipIf(process.platform !== 'linux')(
    `each of several workers finds what another one stored, on ${engine.name}`,
    async () => {
      await using database = await engine.freshDatabase()
      await using service = await startService(database.url, { flags: [...FLAGS, '--workers', '2'] })
      const api = client(() => service.address)
      for (let step = 0; step < STEPS; step += 1) {
        const id = await api.create('/products/', { ...sample.product, name: `Work${step}er`, price: 1 })
        const asked = Array.from({ length: CLIENTS }, () =>
          api.get(`/products/?q=work${step}e`, { Connection: 'close' }),
        )
        for (const answer of await Promise.all(asked)) expect(idsOf(answer)).toEqual([id])
      }
    },
  )
}

for (const { engine, added, lastCommit } of [
  {
    engine: sqlite,
    added: (values: string) => `
      WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${NOTES_OF_ONE})
      INSERT INTO reviews (product_id, user_id, rating, comment) SELECT ${values} FROM numbers`,
    lastCommit: 'SELECT max(place) AS last FROM change_log',
  },
  {
    engine: postgres,
    // One by one, because each statement notes a product once.
    added: (values: string) => `
      DO $$ BEGIN FOR n IN 1..${NOTES_OF_ONE} LOOP
        INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (${values});
      END LOOP; END $$`,
    lastCommit: 'SELECT max(position) AS last FROM change_log',
  },
]) {
  test(`on ${engine.name}, thousands of new reviews of one product take a few commits to index`, async () => {
    await using database = await engine.freshDatabase()
    await using service = await startService(database.url, { flags: FLAGS })
    const api = client(() => service.address)
    const product = await api.create('/products/', sample.product)
    const user = await api.create('/users/', sample.user)
    expect(await foundBy(api, 'sort=-reviews')).toEqual([product])
    await engine.write(database.url, added(`${product}, ${user}, 5, ''`))
    const commits = async () => Number((await engine.read<{ last: unknown }>(database.url, lastCommit))[0]?.last)
    const before = await commits()
    expect(await foundBy(api, 'min_rating=5')).toEqual([product])
    expect((await commits()) - before).toBeLessThanOrEqual(COMMITS_MAX)
    expect(await engine.read(database.url, 'SELECT * FROM index_notes')).toEqual([])
  })
}

describe('on SQLite, many rows', () => {
  const lines = (name: string) =>
    Array.from({ length: ON_A_THREAD }, (_, row) => JSON.stringify({ ...sample.product, name: `${name} ${row}` })).join(
      '\n',
    )

  test('are found by the next search of another process, clear no cache, and leave no note', async () => {
    await using database = await sqlite.freshDatabase()
    await using one = await startService(database.url, { flags: FLAGS })
    await using other = await startService(database.url, { flags: FLAGS })
    const apis = [client(() => other.address), client(() => one.address)]
    for (const name of ['Spade', 'Rake', 'Hoe']) {
      const request = { method: 'POST', body: lines(name), headers: NDJSON }
      expect((await client(() => one.address).send('/products/', request)).status).toBe(200)
      for (const api of apis) {
        expect(idsOf(await getAtLast(api, `/products/?q=${name}&limit=1000`))).toHaveLength(ON_A_THREAD)
        expect((await api.get('/products/1')).status).toBe(200)
      }
    }
    expect(await sqlite.read(database.url, 'SELECT * FROM index_notes')).toEqual([])
    for (const service of [one, other]) {
      await service.stop()
      expect(cacheFigures(service).clears).toBe(0)
    }
  })

  test('let a write that waits for the lock of another program fail in time', async () => {
    await using database = await sqlite.freshDatabase()
    await using service = await startService(database.url, { flags: FLAGS, program: WITH_FAST_CLOCK })
    const api = client(() => service.address)
    await api.send('/products/', { method: 'POST', body: lines('Spade'), headers: NDJSON })
    const lock = await lockedOut(sqlite, database.url)
    let isAnswered = false
    const written = api.post('/products/', sample.product).finally(() => {
      isAnswered = true
    })
    while (!isAnswered) await api.get('/products/?q=spade')
    expect((await written).status).toBe(503)
    await lock.release()
    expect(idsOf(await getAtLast(api, '/products/?q=spade&limit=1000'))).toHaveLength(ON_A_THREAD)
  })
})

test('on SQLite, no search waits for a row that is noted when all others were taken', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'shop.db'), [catalogMigrations])
  const slices = sqliteIndexSlices(database, [PRODUCTS.index])
  const insert = database.prepare<[]>("INSERT INTO products (name, description, price) VALUES ('Spade', '', 1)")
  const create = () => database.write(() => insert.run())
  // A slice takes at least one row, however slow the machine is.
  await create()
  const before = await slices.noted()
  // In one transaction.
  await Promise.all([slices.take('few'), create()])
  const after = await slices.noted()
  expect(before?.last).toBeGreaterThanOrEqual(1)
  expect(after?.first).toBeGreaterThan(before?.last ?? 0)
})

test('on SQLite, a search waits for a row whose note was taken in a transaction that was rolled back', async () => {
  await until(async () => {
    using folder = temporaryFolder()
    await using database = await openSqlite(join(folder.path, 'shop.db'), [catalogMigrations])
    const slices = sqliteIndexSlices(database, [PRODUCTS.index])
    const insert = database.prepare<[id: number, description: string]>(
      "INSERT INTO products (id, name, description, price) VALUES (?, 'Spade', ?, 1)",
    )
    await database.write(() => insert.run(1_000, ''))
    const before = await slices.noted()
    const words = Array.from({ length: 20_000 }, (_, place) => `w${place}`).join(' ')
    let runs = 0
    const slowed = database.write(() => {
      runs += 1
      if (runs === 1) return
      // The slice then ends before the row with the higher id.
      for (let id = 1; id < 15; id += 1) insert.run(id, words)
    })
    const taken = slices.take('few')
    const failed = database.write(() => {
      throw new Error('fails')
    })
    await Promise.allSettled([slowed, taken, failed])
    // The machine paused amid them, and they ran in transactions of their own.
    if (runs < 2) return false
    const after = await slices.noted()
    expect(database.prepare<[], { id: number }>('SELECT id FROM index_notes WHERE id = 1000').all()).toHaveLength(1)
    expect(after?.first).toBeLessThanOrEqual(before?.last ?? 0)
    return true
  })
})

test('on SQLite, processes that begin together note the rows of an index with another form once', async () => {
  await using shop = await outdated(sqlite, 3)
  const path = shop.url.slice('sqlite:'.length)
  await using one = await openSqlite(path, [catalogMigrations])
  await using other = await openSqlite(path, [catalogMigrations])
  const looks = [one, other, one].map(database => sqliteIndexSlices(database, [PRODUCTS.index]).isBuilt())
  expect(await Promise.all(looks)).toEqual([false, false, false])
  expect(Number((await stateOf(sqlite, shop.url))?.notes)).toBe(3)
})

test('on SQLite, a search that comes before an index with another form is noticed finds everything', async () => {
  await using shop = await outdated(sqlite, 3)
  const lock = await lockedOut(sqlite, shop.url)
  await using service = await startService(shop.url, { flags: FLAGS })
  const found = foundAtLast(
    client(() => service.address),
    'q=many',
  )
  // Until it waits for the lock. If it comes later, it finds the same.
  await Bun.sleep(50)
  await lock.release()
  expect(await found).toEqual([1, 2, 3])
})

// In larger pages, FTS5 takes seconds to merge words if many neighbours have changed.
test('on SQLite, words are in small pages', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const names = Array.from({ length: 300 }, (_, place) => `Page${place}x${place ** 3}`)
  const body = names.map(name => JSON.stringify({ ...sample.product, name })).join('\n')
  await api.send('/products/', { method: 'POST', headers: NDJSON, body })
  expect(await foundBy(api, 'q=page7x343')).toEqual([8])
  await using sql = connected(database.url)
  const pages = await sql<{ longest: number; number: number }[]>`
    SELECT max(length(block)) AS longest, count(*) AS number FROM product_words_data`
  expect(Number(pages[0]?.number)).toBeGreaterThan(10)
  expect(Number(pages[0]?.longest)).toBeLessThan(WORD_PAGE_BYTES_MAX)
})

// Each time analyzes the tables, with a lock that the others wait for.
test('on PostgreSQL, searches that wait for a new index record once that it is complete', async () => {
  await using shop = await outdated(postgres, 3)
  await using sql = connected(shop.url)
  await sql.unsafe(`CREATE TABLE completions (number bigint);
    CREATE FUNCTION note_completion() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO completions VALUES (new.number); RETURN NULL; END $$;
    CREATE TRIGGER completed AFTER UPDATE ON index_form FOR EACH ROW WHEN (new.is_built) EXECUTE FUNCTION note_completion()`)
  const lock = await lockedOut(postgres, shop.url)
  await using service = await startService(shop.url, { flags: FLAGS })
  const api = client(() => service.address)
  const searches = Array.from({ length: CLIENTS }, (_, place) => api.get(`/products/?q=many&limit=${place + 1}`))
  await until(async () => Number((await stateOf(postgres, shop.url))?.notes) > 0)
  await lock.release()
  for (const { status } of await Promise.all(searches)) expect(status).toBe(200)
  expect(await sql`SELECT FROM completions`).toHaveLength(1)
})

describe('on PostgreSQL, by a fast clock', () => {
  const open = new AsyncDisposableStack()
  let url: string
  let api: Client
  let product: number
  beforeAll(async () => {
    url = open.use(await postgres.freshDatabase()).url
    {
      // On a busy machine, the first create of a service may take longer than it has by the fast clock.
      await using first = await startService(url, { flags: FLAGS })
      product = await client(() => first.address).create('/products/', sample.product)
    }
    const service = open.use(await startService(url, { flags: FLAGS, program: WITH_FAST_CLOCK }))
    api = client(() => service.address)
    expect(idsOf(await getAtLast(api, '/products/?q=spade'))).toEqual([product])
  })
  afterAll(() => open.disposeAsync())

  // By this clock, a statement and an answer have 0.4 s. Both tests ask again if the machine pauses.

  test('each count of facets may take as long as a statement, not all together', async () => {
    await using _ = await slowedDown(url, 0.2)
    // A count reads the facts once.
    await until(async () => (await api.get('/facets/products?min_price=1&category_id=0')).status === 200)
  })

  test('many slow searches wait for each other, hold up no other read, and break off no write', async () => {
    const category = await api.create('/categories/', sample.category)
    await using slow = await slowedDown(url, 0.1)
    await slow.sql.unsafe(`
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.25); RETURN new; END $$;
      CREATE TRIGGER wait BEFORE UPDATE ON categories FOR EACH ROW EXECUTE FUNCTION wait()`)
    let asked = 0
    const slowSearch = () => {
      asked += 1
      return api.get(`/products/?min_price=0.${asked}`)
    }
    await until(async () => {
      const searches = Array.from({ length: 30 }, slowSearch)
      await Bun.sleep(20)
      const read = await api.get(`/products/${product}`)
      // At the time at which a read that waits for the searches has failed.
      await Bun.sleep(200)
      const written = await api.put(`/categories/${category}`, { ...sample.category, name: `No. ${asked}` })
      const statuses = [read, written, ...(await Promise.all(searches))].map(({ status }) => status)
      return statuses.every(status => status === 200)
    })
  })
})

test('on PostgreSQL, it follows programs with another search path', async () => {
  await using database = await postgres.freshDatabase()
  await using sql = connected(database.url)
  const { pathname } = new URL(database.url)
  await sql.unsafe(`CREATE SCHEMA "the shop"; ALTER DATABASE ${pathname.slice(1)} SET search_path = "the shop"`)
  await using shop = await started(database.url, 1)
  const [api] = shop.apis
  if (!api) throw new Error('no node')
  const user = await api.create('/users/', sample.user)
  const [product, other] = [
    await api.create('/products/', sample.product),
    await api.create('/products/', sample.product),
  ]
  await sql`SET search_path = ''`
  // The session's own tables come first, unless its path says otherwise.
  await sql`CREATE TEMPORARY TABLE index_notes (part text, id bigint)`
  await sql`INSERT INTO "the shop".reviews (product_id, user_id, rating, comment) VALUES (${product}, ${user}, 5, 'Good')`
  expect(await foundBy(api, 'min_rating=5')).toEqual([product])
  await sql`UPDATE "the shop".products SET name = 'Rake' WHERE id = ${product}`
  await sql`DELETE FROM "the shop".products WHERE id = ${other}`
  expect([await foundBy(api, 'q=rake'), await foundBy(api, 'q=spade')]).toEqual([[product], []])
  await sql`TRUNCATE "the shop".reviews`
  expect(await foundBy(api, 'min_rating=5')).toEqual([])
})

describe('on PostgreSQL', () => {
  const open = new AsyncDisposableStack()
  let sql: SQL
  let api: Client
  beforeAll(async () => {
    const { url } = open.use(await postgres.freshDatabase())
    const service = open.use(await startService(url, { flags: FLAGS, environment: QUICK_HASHES }))
    sql = open.use(connected(url))
    api = client(() => service.address)
  })
  afterAll(() => open.disposeAsync())

  test('TRUNCATE empties the index, too', async () => {
    const user = await api.create('/users/', sample.user)
    const product = await api.create('/products/', sample.product)
    await api.create('/reviews/', { ...sample.review(product, user), rating: 5 })
    expect(await foundBy(api, 'q=spade&min_rating=5')).toEqual([product])
    await sql`TRUNCATE reviews`
    expect(await foundBy(api, 'q=spade&min_rating=5')).toEqual([])
    await api.create('/reviews/', { ...sample.review(product, user), rating: 5 })
    await sql`TRUNCATE users CASCADE`
    expect(await foundBy(api, 'min_rating=1')).toEqual([])
    expect(idsOf(await api.get('/users/?q=ada'))).toEqual([])
    await sql`TRUNCATE products, categories CASCADE`
    expect(await foundBy(api, 'q=spade')).toEqual([])
    expect(await foundBy(api, 'sort=name')).toEqual([])
  })

  test('a price that is no finite number is refused, and one that is there already does no harm', async () => {
    const store = async (price: string) =>
      sql`INSERT INTO products (name, description, price) VALUES ('Spade', 'Steel', ${price}::text::float8)`
    const good = await api.create('/products/', sample.product)
    for (const price of ['NaN', 'Infinity']) await expect(store(price)).rejects.toThrow(/products_price_is_finite/)
    await sql`ALTER TABLE products DROP CONSTRAINT products_price_is_finite`
    for (const price of ['NaN', 'Infinity']) await store(price)
    expect(await foundBy(api, 'q=spade&max_price=99')).toEqual([good])
    for (const query of ['q=spade', 'sort=-price', 'min_price=1']) expect(await foundBy(api, query)).toHaveLength(3)
    expect((await api.get('/facets/products?facets=price')).status).toBe(200)
  })
})

interface Nodes extends AsyncDisposable {
  readonly url: string
  readonly apis: readonly Client[]
}

async function startNodes(engine: Engine, count: number): Promise<Nodes> {
  const open = new AsyncDisposableStack()
  const { url } = open.use(await engine.freshDatabase())
  const { apis } = open.use(await started(url, count))
  return { url, apis, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

function pairOf({ apis: [one, other] }: Nodes): [Client, Client] {
  if (!one || !other) throw new Error('no two nodes')
  return [one, other]
}

async function started(url: string, count: number): Promise<Nodes> {
  const open = new AsyncDisposableStack()
  const services: Service[] = await Promise.all(
    Array.from({ length: count }, () => startService(url, { flags: FLAGS, environment: QUICK_HASHES })),
  )
  for (const service of services) open.use(service)
  return {
    url,
    apis: services.map(service => client(() => service.address)),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

/** A database of products whose index is empty and has another form. */
async function outdated(engine: Engine, count: number): Promise<AsyncDisposable & { readonly url: string }> {
  const database = await migrated(engine)
  await using sql = connected(database.url)
  await sql.unsafe(
    `INSERT INTO products (id, name, price, description)
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    SELECT i, 'Many things', i, 'Number ' || i FROM n`,
  )
  await forget(database.url)
  return database
}

async function forget(url: string): Promise<void> {
  await using sql = connected(url)
  await sql`DELETE FROM index_notes`
  await sql`DELETE FROM product_facts`
  await sql`UPDATE index_form SET number = 0`
}

interface State {
  readonly is_built: unknown
  readonly notes: unknown
  readonly indexed: unknown
}

async function stateOf(engine: Engine, url: string): Promise<State | undefined> {
  const sql = `SELECT is_built::int AS is_built, (SELECT count(*) FROM index_notes) AS notes,
    (SELECT count(*) FROM product_facts) AS indexed FROM index_form`
  const [state] = await engine.read<State>(url, engine === sqlite ? sql.replace('::int', '') : sql)
  return state
}

async function expectComplete(engine: Engine, url: string, products: number): Promise<void> {
  const { is_built, notes, indexed } = (await stateOf(engine, url)) ?? {}
  expect([is_built, notes, indexed].map(Number)).toEqual([1, 0, products])
}

/** Keeps every process from indexing, after another program has changed something. */
async function lockedOut(engine: Engine, url: string, change?: string): Promise<{ release: () => Promise<void> }> {
  if (engine !== sqlite) {
    const sql = connected(url)
    await sql`SELECT pg_advisory_lock(5365741)`
    if (change) await sql.unsafe(change)
    if (change && engine === citus)
      await sql`INSERT INTO index_notes (part, id) SELECT 'products', max(id) FROM products`
    return { release: () => sql.close() }
  }
  const file = new Database(url.slice('sqlite:'.length))
  file.run('PRAGMA busy_timeout = 10000')
  if (change) file.run(change)
  file.run('BEGIN IMMEDIATE')
  return {
    release: async () => {
      file.run('ROLLBACK')
      file.close()
    },
  }
}

/** Until it is disposed of, each statement that reads the facts of products takes this long. */
async function slowedDown(url: string, seconds: number): Promise<AsyncDisposable & { readonly sql: SQL }> {
  const sql = connected(url)
  await sql.unsafe(`ALTER TABLE product_facts RENAME TO facts;
    CREATE VIEW product_facts AS SELECT facts.* FROM facts CROSS JOIN pg_sleep(${seconds})`)
  return {
    sql,
    [Symbol.asyncDispose]: async () => {
      await sql.unsafe('DROP VIEW product_facts; ALTER TABLE facts RENAME TO product_facts')
      await sql.close()
    },
  }
}

async function namesOf(api: Client, ids: readonly number[]): Promise<string[]> {
  const answers = await Promise.all(ids.map(id => api.get(`/products/${id}`)))
  return answers.map(({ body }) => Named.parse(body).name)
}

async function foundBy(api: Client, query: string): Promise<number[]> {
  return idsOf(await api.get(`/products/?${query}`))
}

async function foundAtLast(api: Client, query: string): Promise<number[]> {
  return idsOf(await getAtLast(api, `/products/?${query}`))
}
