import { type Client, createClient, NotFound, tagOf, Unavailable } from '../index.js'

/** What compiles and what does not. It is never run: the compiler refuses an unneeded `@ts-expect-error`. */
export async function narrowed(shop: Client): Promise<unknown[]> {
  const page = await shop.products.list({ q: 'spade', sort: '-rating', fields: ['id', 'name', 'rating'] })
  const [item] = page.items
  const average: number | null | undefined = item?.rating.average
  // @ts-expect-error: not asked for
  item?.description
  // @ts-expect-error: a page may be the last
  ;(await page.next()).items
  const next = (await page.next())?.items[0]
  // @ts-expect-error: not asked for on the next page either
  next?.price

  const [whole] = (await shop.products.list({ limit: 1 })).items
  const description: string | undefined = whole?.description
  // @ts-expect-error: only by name
  whole?.rating
  const more = await shop.products.get(7, { fields: ['*', 'highlights', 'category_id'] })
  const texts: (string | undefined)[] = [more.description, more.highlights?.name[0]?.text]
  // @ts-expect-error: may be null
  more.category_id.toFixed()
  // @ts-expect-error: not asked for
  more.rating

  for await (const { id, name } of shop.categories.all({ fields: ['id', 'name'] })) texts.push(`${id} ${name}`)
  // @ts-expect-error: not asked for
  for await (const { products } of shop.categories.all({ fields: ['id', 'name'] })) texts.push(products[0].name)
  // @ts-expect-error: no such member
  await shop.products.list({ fields: ['colour'] })
  // @ts-expect-error: no such parameter
  await shop.products.list({ colour: 'red' })
  // @ts-expect-error: no such order
  await shop.reviews.list({ sort: 'rating' })
  await shop.reviews.of({ product: 7 }).list({ sort: 'rating' })
  // @ts-expect-error: the reviews of a user have no such order
  await shop.reviews.of({ user: 7 }).list({ sort: 'rating' })
  // @ts-expect-error: whose reviews?
  shop.reviews.of({})
  // @ts-expect-error: the products of a category have no filters
  await shop.products.of({ category: 3 }).list({ q: 'spade' })
  // @ts-expect-error: only products have facets
  await shop.users.facets()

  const facets = await shop.products.facets({ facets: ['price'], price_bands: [10] })
  const bands: number[] = [facets.count, ...facets.price.bands.map(({ count }) => count)]
  // @ts-expect-error: not asked for
  facets.rating

  // @ts-expect-error: no price
  await shop.products.create({ name: 'Spade', description: 'Steel' })
  const kettle = { name: 'Kettle', description: 'Copper', price: 89 }
  // @ts-expect-error: the service would ignore it
  await shop.products.create({ ...kettle, category_id: 3 })
  await shop.products.create({ ...kettle, category_id: undefined }, { category: 3 })
  await shop.products.createMany([kettle, { ...kettle, category_id: 3 }, { ...kettle, category_id: null }])
  await shop.products.createMany([{ ...kettle, id: undefined, category_id: undefined }])
  const ada = { name: 'Ada', email: 'ada@mail.example', avatar: '/ada.png' }
  await shop.users.create({ ...ada, password: 'a secret of mine', is_admin: undefined })
  await shop.users.createMany([{ ...ada, id: undefined, password: undefined, password_hash: 'hash' }])
  await shop.products.update(7, await shop.products.get(7))
  // @ts-expect-error: an update keeps the category
  await shop.products.update(7, await shop.products.get(7, { fields: ['*', 'category_id'] }))
  const updated = await shop.products.update(7, kettle, { ifMatch: tagOf(more) })
  await shop.products.delete(7, { ifMatch: tagOf(updated) })
  // @ts-expect-error: an edit has the tag that it reads
  await shop.products.edit(7, () => kettle, { ifMatch: tagOf(updated) })
  // @ts-expect-error: only products are created in a category
  await shop.reviews.create({ product_id: 1, user_id: 1, rating: 1, comment: '' }, { category: 3 })
  await shop.products.edit(7, product => ({ ...product, price: product.price * 0.9 }))
  // @ts-expect-error: nothing is returned
  await shop.products.edit(7, product => {
    product.price *= 0.9
  })
  // @ts-expect-error: it may be gone already
  ;(await shop.products.delete(7)).name

  for await (const event of shop.events({ types: ['product', 'user.deleted'], since: null })) {
    if (event.type === 'product.updated') bands.push(event.data.price)
    if (event.type === 'reset') texts.push(event.data.reason)
    // @ts-expect-error: deleted products have only an id
    if (event.type === 'product.deleted') texts.push(event.data.name)
  }
  const { isConnected } = shop.events({ types: [], onConnection: is => texts.push(is ? 'live' : 'lost') })
  texts.push(isConnected ? 'live' : page.cursor)
  // @ts-expect-error: no such events
  shop.events({ types: ['order'] })

  const error: unknown = await shop.products.get(1).catch(reason => reason)
  if (error instanceof NotFound) texts.push(error.resource ?? '')
  if (error instanceof Unavailable) bands.push(error.retryAfter ?? 0)
  createClient('https://shop.example', { key: undefined, fetch: (url, init) => fetch(url, init) })
  return [average, description, texts, bands]
}
