import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Client, client } from '../../test/harness/client.ts'
import { QUICK_HASHES } from '../../test/harness/contract.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, type Service, type Surroundings, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const COLLECTIONS = ['/categories/', '/products/', '/users/', '/reviews/'] as const
const WRITERS = 4

const Items = z.array(z.looseObject({ id: z.int() }))

describe('of a running service that nobody writes to', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await startShop()
    await createSome(shop.api)
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('a backup of a running service has everything acknowledged before it', async () => {
    using place = emptyPlace()
    const { status, output, errors } = await run(['backup', '--database', shop.database, place.copy])
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    expect(output).toContain(place.copy)
    expect(await contentsOf(place.copy)).toEqual(await everythingOf(shop.api))
  })

  test('a backup is one file that only its owner can read', async () => {
    using place = emptyPlace()
    expect(await run(['backup', '--database', shop.database, place.copy])).toMatchObject({ status: 0 })
    expect((statSync(place.copy).mode & 0o777).toString(8)).toBe('600')
    expect(readdirSync(place.copies)).toEqual(['copy.db'])
  })

  test('a relative backup path starts at the working folder', async () => {
    using place = emptyPlace()
    const ran = await run(['backup', '--database', shop.database, 'copy.db'], { folder: place.copies })
    expect(ran).toMatchObject({ status: 0, errors: '' })
    expect(await contentsOf(place.copy)).toEqual(await everythingOf(shop.api))
  })

  test('a backup overwrites no existing file, whatever it is', async () => {
    using place = emptyPlace()
    for (const content of ['', 'Buy milk.\n']) {
      writeFileSync(place.copy, content)
      const refused = await run(['backup', '--database', shop.database, place.copy])
      expectRefusal(refused, { status: 1, reason: /copy\.db already exists; nothing is overwritten/ }, content)
      expect(readFileSync(place.copy, 'utf8')).toBe(content)
    }
    const link = join(place.copies, 'link.db')
    symlinkSync('missing-disk/copy.db', link)
    expectRefusal(await run(['backup', '--database', shop.database, link]), { status: 1, reason: /link\.db: EEXIST/ })
    expect(readlinkSync(link)).toBe('missing-disk/copy.db')
    expectRefusal(await run(['backup', '--database', shop.database, place.copies]), {
      status: 1,
      reason: /already exists/,
    })
    expectRefusal(await run(['backup', '--database', shop.database, shop.file]), {
      status: 1,
      reason: /already exists/,
    })
    expect(await everythingOf(shop.api)).not.toEqual([[], [], [], []])
  })

  test('a backup leaves the files beside it alone, whatever their names', async () => {
    using place = emptyPlace()
    const neighbours = ['copy.db.partial', 'copy.db-wal', 'copy.db.tmp'].map(name => join(place.copies, name))
    for (const neighbour of neighbours) writeFileSync(neighbour, 'Buy milk.\n')
    await run(['backup', '--database', shop.database, place.copy])
    for (const neighbour of neighbours) {
      expect(existsSync(neighbour) && readFileSync(neighbour, 'utf8'), neighbour).toBe('Buy milk.\n')
    }
  })

  test('of two backups to one file at once, one is made and the other is refused', async () => {
    using place = emptyPlace()
    const runs = await Promise.all([1, 2].map(() => run(['backup', '--database', shop.database, place.copy])))
    expect(await contentsOf(place.copy)).toEqual(await everythingOf(shop.api))
    expect(runs.map(({ status }) => status).sort()).toEqual([0, 1])
  })

  test('a backup that cannot be written names the path of the copy, and leaves nothing behind', async () => {
    using place = emptyPlace()
    for (const copy of ['gone/copy.db', `${'long'.repeat(64)}.db`]) {
      const refused = await run(['backup', '--database', shop.database, join(place.copies, copy)])
      expectRefusal(refused, { status: 1, reason: new RegExp(`cannot write .*${copy}: `) })
    }
    expect(readdirSync(place.copies)).toEqual([])
  })
})

test('a backup taken during writes is of one moment, and has everything acknowledged before it began', async () => {
  await using shop = await startShop()
  const user = await shop.api.create('/users/', sample.user)
  let goesOn = true
  const acknowledged: number[] = []
  const writers = Array.from({ length: WRITERS }, async () => {
    while (goesOn) {
      const product = await shop.api.create('/products/', { ...sample.product, description: 'x'.repeat(2_000) })
      await shop.api.create('/reviews/', sample.review(product, user))
      acknowledged.push(product)
    }
  })
  const copiesMade: { readonly copy: string; readonly before: readonly number[] }[] = []
  try {
    for (let copies = 1; copies <= 3; copies += 1) {
      await until(() => acknowledged.length >= copies * 40)
      const before = [...acknowledged]
      const copy = `${shop.copy}-${copies}`
      expect(await run(['backup', '--database', shop.database, copy])).toMatchObject({ status: 0, errors: '' })
      copiesMade.push({ copy, before })
    }
  } finally {
    goesOn = false
    await Promise.all(writers)
  }
  for (const { copy, before } of copiesMade) {
    const [, products = [], users = [], reviews = []] = await contentsOf(copy)
    const productIds = products.map(({ id }) => id)
    expect(users).toHaveLength(1)
    expect(before.filter(id => !productIds.includes(id))).toEqual([])
    // Writes are numbered in order, so one moment has all numbers up to its last.
    expect(productIds).toEqual(Array.from(productIds, (_, place) => place + 1))
    expect(reviews.map(({ id }) => id)).toEqual(Array.from(reviews, (_, place) => place + 1))
    expect(reviews.filter(review => !productIds.includes(Number(review.product_id)))).toEqual([])
  }
})

test('a backup put in place of the database restores what was lost', async () => {
  await using shop = await startShop()
  const { product, user } = await createSome(shop.api)
  const before = await everythingOf(shop.api)
  expect(await run(['backup', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
  await shop.api.delete(`/products/${product}`)
  await shop.api.delete(`/users/${user}`)
  await Promise.all(Array.from({ length: 50 }, () => shop.api.create('/products/', sample.product)))
  await shop.service.stop('SIGKILL')
  expect(await run(['restore', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
  await using again = await startService(shop.database, { flags: FLAGS })
  const api = client(() => again.address)
  expect(await everythingOf(api)).toEqual(before)
  const made = await api.create('/products/', sample.product)
  expect((await api.get(`/products/${made}`)).body).toEqual({ id: made, ...sample.product, reviews: [] })
})

test('a restored database never reuses ids that were deleted before the backup', async () => {
  await using shop = await startShop()
  const last = await shop.api.create('/products/', sample.product)
  await shop.api.delete(`/products/${last}`)
  expect(await run(['backup', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
  await using restored = await startService(`sqlite:${shop.copy}`, { flags: FLAGS })
  expect(await client(() => restored.address).create('/products/', sample.product)).toBeGreaterThan(last)
})

test('a user of a restored database keeps their password', async () => {
  await using shop = await startShop({})
  await shop.api.create('/users/', sample.user)
  expect(await run(['backup', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
  expect(readFileSync(shop.copy, 'latin1')).toContain('$argon2id$')
  expect(readFileSync(shop.copy, 'latin1')).not.toContain(sample.user.password)
})

test('a backup without a running service includes what a killed one left in its write-ahead log', async () => {
  await using shop = await startShop()
  await createSome(shop.api)
  const before = await everythingOf(shop.api)
  await shop.service.stop('SIGKILL')
  expect(await run(['backup', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
  expect(await contentsOf(shop.copy)).toEqual(before)
})

test('a backup of a missing database names its path, and does not create it', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const refused = await run(['backup', '--database', `sqlite:${file}`, join(folder.path, 'copy.db')])
  expectRefusal(refused, { status: 1, reason: /shop\.db/ })
  expect(readdirSync(folder.path)).toEqual([])
})

test('a backup that runs out of space says so, and leaves nothing behind', async () => {
  await using shop = await startShop()
  for (let made = 0; made < 20; made += 1) {
    await shop.api.create('/products/', { ...sample.product, description: 'x'.repeat(100_000) })
  }
  await shop.service.stop()
  const refused = await run(['backup', '--database', shop.database, shop.copy], {
    through: ['bash', '-c', `trap '' XFSZ; ulimit -f 512; exec "$@"`, 'bash'],
  })
  expectRefusal(refused, { status: 1, reason: /copy\.db/ })
  expect(readdirSync(shop.copies)).toEqual([])
  expect(await run(['backup', '--database', shop.database, shop.copy])).toMatchObject({ status: 0 })
})

interface Place {
  /** An empty folder. */
  readonly copies: string
  /** A file in it that is not there yet. */
  readonly copy: string
}

interface Shop extends Place, AsyncDisposable {
  readonly service: Service
  readonly api: Client
  readonly file: string
  readonly database: string
}

function emptyPlace(): Place & Disposable & { readonly path: string } {
  const folder = temporaryFolder()
  const copies = join(folder.path, 'copies')
  mkdirSync(copies)
  return { path: folder.path, copies, copy: join(copies, 'copy.db'), [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

async function startShop(environment: Surroundings['environment'] = QUICK_HASHES): Promise<Shop> {
  const open = new AsyncDisposableStack()
  const { copies, copy, path } = open.use(emptyPlace())
  const file = join(path, 'shop.db')
  const database = `sqlite:${file}`
  const service = open.use(await startService(database, { flags: FLAGS, environment }))
  return {
    service,
    api: client(() => service.address),
    file,
    database,
    copies,
    copy,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function createSome(api: Client) {
  const category = await api.create('/categories/', sample.category)
  const product = await api.create(`/products/${category}/products`, sample.product)
  const user = await api.create('/users/', sample.user)
  await api.create('/reviews/', sample.review(product, user))
  return { product, user }
}

/** The items that a service shows when it runs on a copy. */
async function contentsOf(copy: string): Promise<z.output<typeof Items>[]> {
  using folder = temporaryFolder()
  const file = join(folder.path, 'copy.db')
  copyFileSync(copy, file)
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  return await everythingOf(client(() => service.address))
}

async function everythingOf(api: Client): Promise<z.output<typeof Items>[]> {
  const answers = await Promise.all(COLLECTIONS.map(path => api.get(`${path}?limit=1000000`)))
  return answers.map(({ body }) => Items.parse(body))
}
