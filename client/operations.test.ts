import { expect, setDefaultTimeout, test } from 'bun:test'
import { startKeyedShop } from '../test/harness/catalog/keyed-shop.ts'
import { onOneEngine } from '../test/harness/contract.ts'
import { sqlite } from '../test/harness/engines.ts'
import { startScriptedServer } from '../test/harness/peers/scripted-server.ts'
import { sample } from '../test/harness/samples.ts'
import {
  type Client,
  Conflict,
  createClient,
  Invalid,
  NotFound,
  type Page,
  type Product,
  tagOf,
  Unauthorized,
} from './index.js'

setDefaultTimeout(60_000)

const garden = { name: 'Garden', description: 'Everything outside' }
const spade = { name: 'Spade', description: 'Steel', price: 34.5 }
const ada = { name: 'Ada Byron', email: 'ada@mail.example', avatar: '/ada.png', password: 'a secret of mine' }

onOneEngine('the client, with a real service', api => {
  const connected = () => createClient(api.address(), { timeoutMs: 30_000 })

  test('categories can be created, read, updated, edited and deleted', async () => {
    const { categories } = connected()
    const created = await categories.create(garden)
    expect(created).toEqual({ id: created.id, ...garden, products: [] })
    expect(await categories.get(created.id)).toEqual(created)
    await categories.update(created.id, { ...garden, name: 'Gardens' })
    const edited = await categories.edit(created.id, category => ({ ...category, description: 'Outside' }))
    expect(edited).toEqual({ ...created, name: 'Gardens', description: 'Outside' })
    expect(await categories.delete(created.id)).toEqual(edited)
    expect(await failureOf(categories.get(created.id))).toMatchObject({ status: 404, resource: 'Category' })
  })

  test('an update or a delete that a proxy makes a GET of, by a 303, has not been done', async () => {
    const { products, users } = connected()
    const product = await products.create(spade)
    const user = await users.create(ada)
    await using proxy = await startScriptedServer(({ path }) => response => {
      response.writeHead(303, { Location: api.address() + path }).end()
    })
    const redirected = createClient(proxy.address)
    for (const write of [
      () => redirected.products.update(product.id, { ...spade, price: 1 }),
      () => redirected.users.update(user.id, { ...ada, name: 'Ada King' }),
      () => redirected.products.delete(product.id),
    ]) {
      const error = await failureOf(write())
      expect(error).toMatchObject({ name: 'StockroomError', status: 200, mayBeDone: false })
      expect(error).toHaveProperty('detail', expect.stringContaining(`redirected to ${api.address()}/`))
    }
    expect(proxy.asked.map(({ method }) => method)).toEqual(['PUT', 'PATCH', 'DELETE'])
    expect([await products.get(product.id), await users.get(user.id)]).toEqual([product, user])
  })

  test('products can be created in a category, read, updated, edited and deleted', async () => {
    const { categories, products } = connected()
    const { id: category } = await categories.create(garden)
    const created = await products.create(spade, { category })
    expect(await products.of({ category }).list()).toMatchObject({ items: [created], total: undefined })
    await products.update(created.id, { ...spade, price: 30 })
    const edited = await products.edit(created.id, product => ({ ...product, price: product.price * 2 }))
    expect(edited).toEqual({ ...created, price: 60 })
    expect(await products.delete(created.id)).toEqual(edited)
    expect(await Array.fromAsync(products.of({ category }).all())).toEqual([])
  })

  test('reviews can be listed of a product, of a user, and of both', async () => {
    const { products, users, reviews } = connected()
    const { id: product_id } = await products.create(spade)
    const { id: user_id } = await users.create(ada)
    const created = await reviews.create({ product_id, user_id, rating: 4, comment: 'Digs well' })
    const other = await reviews.create({
      product_id: (await products.create(spade)).id,
      user_id,
      rating: 1,
      comment: 'Bent',
    })
    const edited = await reviews.edit(created.id, review => ({ ...review, rating: 5 }))
    expect(edited).toEqual({ ...created, rating: 5 })
    expect((await reviews.of({ product: product_id }).list()).items).toEqual([edited])
    expect(await Array.fromAsync(reviews.of({ user: user_id }).all({ limit: 1 }))).toEqual([edited, other])
    expect((await reviews.of({ product: product_id, user: user_id }).list({ skip: 0 })).items).toEqual([edited])
    expect(await reviews.delete(created.id)).toEqual(edited)
  })

  test('a user who is edited keeps the password and the flags', async () => {
    const { users } = connected()
    const created = await users.create({ ...ada, is_banned: 1 })
    const edited = await users.edit(created.id, user => ({ ...user, name: 'Ada Lovelace' }))
    expect(edited).toEqual({ ...created, name: 'Ada Lovelace' })
  })

  test('of many edits at the same time, each is done once', async () => {
    const { products } = connected()
    const { id } = await products.create({ ...spade, price: 1 })
    await Promise.all(Array.from({ length: 20 }, () => products.edit(id, it => ({ ...it, price: it.price + 1 }))))
    expect((await products.get(id)).price).toBe(21)
  })

  test('a form that was loaded before somebody else saved is refused, and saved with the tag of what is there', async () => {
    const { products } = connected()
    const loaded = await products.create(spade)
    const chosen = await products.get(loaded.id, { fields: ['id', 'price'] })
    const saved = await products.update(loaded.id, { ...spade, price: 30 }, { ifMatch: tagOf(loaded) })
    for (const stale of [loaded, chosen]) {
      const call = products.update(loaded.id, { ...spade, price: 1 }, { ifMatch: tagOf(stale) })
      expect(await failureOf(call)).toBeInstanceOf(Conflict)
    }
    expect(await failureOf(products.delete(loaded.id, { ifMatch: tagOf(loaded) }))).toBeInstanceOf(Conflict)
    expect((await products.get(loaded.id)).price).toBe(30)
    const edited = await products.edit(loaded.id, product => ({ ...product, price: 31 }))
    expect(await failureOf(products.delete(loaded.id, { ifMatch: tagOf(saved) }))).toBeInstanceOf(Conflict)
    expect(await products.delete(loaded.id, { ifMatch: tagOf(edited) })).toEqual(edited)
  })

  test('an update keeps the category of a product, whatever it says', async () => {
    const { categories, products } = connected()
    const { id: category } = await categories.create(garden)
    const { id: other } = await categories.create(garden)
    const { id } = await products.create(spade, { category })
    await products.update(id, { ...spade, price: 30, category_id: other } as typeof spade)
    expect(await products.get(id, { fields: ['price', 'category_id'] })).toEqual({ price: 30, category_id: category })
  })

  test('a list of none of the ids that it is given is empty, and a cursor leads on from its page', async () => {
    const { products } = connected()
    await products.createMany([3, 2, 1].map(price => ({ ...spade, price })))
    const { items, hasNext, cursor } = await products.list({ sort: 'price', limit: 1, fields: ['id'] })
    expect(items).toHaveLength(1)
    expect(hasNext).toBe(true)
    const all = await Array.fromAsync(products.all({ sort: 'price', category_id: [], fields: ['id'] }))
    const rest = await Array.fromAsync(products.all({ sort: 'price', cursor, fields: ['id'] }))
    expect([...items, ...rest]).toEqual(all)
    expect(await Array.fromAsync(products.all({ id: [] }))).toEqual([])
  })

  test('a repeated create under one key creates once', async () => {
    const { products } = connected()
    const created = await products.create(spade, { idempotencyKey: 'order-7' })
    expect(await products.create(spade, { idempotencyKey: 'order-7' })).toEqual(created)
    const lines = [spade, { ...spade, category_id: null }]
    const many = await products.createMany(lines, { idempotencyKey: 'orders' })
    expect(await products.createMany(lines, { idempotencyKey: 'orders' })).toEqual(many)
  })

  test('users can be created from lines, and wrong lines are named', async () => {
    const { users } = connected()
    const { created, ids } = await users.createMany([ada, { ...sample.user, name: 'Grace' }])
    expect([created, ids.length]).toEqual([2, 2])
    const error = await failureOf(users.createMany([ada, { ...ada, name: 'A' }]))
    expect(error).toBeInstanceOf(Invalid)
    expect(error).toMatchObject({ errors: [{ loc: ['body', 2, 'name'], type: 'string_too_short' }] })
  })

  test('a body of more than eight MiB is created in parts', async () => {
    const { products } = connected()
    const lines = Array.from({ length: 10 }, (_, number) => ({
      ...spade,
      name: `Part ${number}`,
      description: 'é'.repeat(500_000),
    }))
    const { ids } = await products.createMany(lines)
    expect(ids).toHaveLength(10)
    expect((await products.get(ids[9] ?? 0)).name).toBe('Part 9')
  })

  test('a list goes on page by page to its end, without an empty page', async () => {
    const { products } = connected()
    await products.createMany(Array.from({ length: 7 }, () => spade))
    const all = await Array.fromAsync(products.all())
    for (const query of [{ limit: 3 }, { limit: 3, skip: 0 }]) {
      const paged: unknown[] = []
      let page: Page<Product> | null = await products.list(query)
      for (; page; page = await page.next()) {
        expect(page.items.length).toBeGreaterThan(0)
        paged.push(...page.items)
      }
      expect(paged).toEqual(all)
    }
  })

  test('NotFound and Invalid say what the service says', async () => {
    const { products } = connected()
    expect(await failureOf(products.get(4_711_000))).toMatchObject({ resource: 'Product' })
    expect(await failureOf(products.create({ name: 'ab', description: '', price: -1 }))).toMatchObject({
      errors: [
        { loc: ['body', 'name'], type: 'string_too_short' },
        { loc: ['body', 'price'], type: 'greater_than' },
      ],
    })
    expect(await failureOf(products.get(4_711_000))).toBeInstanceOf(NotFound)
  })
})

test('with access keys, the client sends its own, and says if it is not enough', async () => {
  await using shop = await startKeyedShop(sqlite)
  const connected = (key?: string): Client => createClient(shop.service.address, { key, timeoutMs: 30_000 })
  const { id } = await connected(shop.keys.write).products.create(spade)
  expect((await connected(shop.keys.read).products.get(id)).name).toBe('Spade')
  for (const [key, status] of [
    [undefined, 401],
    ['sk_wrong', 401],
    [shop.keys.read, 403],
  ] as const) {
    const error = await failureOf(connected(key).products.delete(id))
    expect(error).toBeInstanceOf(Unauthorized)
    expect(error).toMatchObject({ status })
    expect(String(error)).not.toContain(String(key))
  }
})

function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => {
      throw new Error('it did not fail')
    },
    error => error,
  )
}
