/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { formLimit, readForm } from '../../pages/form.ts'
import { HttpError } from '../../server/errors.ts'
import type { App } from '../../server/requests.ts'
import { htmlAnswer, type PageContext, pathId, searchParamsOf, seeOther } from './answer.ts'
import { bodyOf, type FormPage, formPage, numberIn, RatingHistogram, type Texts, textsOf } from './forms.tsx'
import type { Visitor } from './frame.tsx'
import { choicesOf, reviewRows, StarChips } from './list-pages.tsx'
import type { ListedItem } from './lists.ts'
import { KINDS, type ManagedKind, type ManagedLists, type ProductItem } from './managed.ts'
import { type OwnOperations, refusalOf } from './own-operations.ts'
import { ProductRowForm, ProductTableRow, price } from './tables.tsx'

const TOLD: Readonly<Record<string, string>> = { saved: 'Saved.', created: 'Created.' }

const TAG = /^"[\w.]+"$/
const KEY = /^[\w-]+$/

export interface PageParts {
  readonly lists: ManagedLists
  readonly own: OwnOperations
  readonly visitorOf: (context: PageContext) => Visitor
}

/** Adds the forms of products, categories and users, and the row of a product that is edited in place. */
export function addForms(app: App, parts: PageParts): void {
  const { lists } = parts
  addForm(app, parts, KINDS.products, id => lists.wholeProducts.find(id))
  addForm(app, parts, KINDS.categories, id => lists.categories.find(id))
  addForm(app, parts, KINDS.users, id => lists.wholeUsers.find(id))
  addRow(app, parts)
}

type Find = (id: number) => Promise<ListedItem<Readonly<Record<string, unknown>>> | null>

function addForm(app: App, { lists, own, visitorOf }: PageParts, kind: ManagedKind, find: Find): void {
  const around = async (context: PageContext, item: ListedItem<Readonly<Record<string, unknown>>>) =>
    kind.path === 'products' ? productParts(lists, context, Number(item.value.id)) : {}
  const categories = async () => (kind.path === 'products' ? { categories: await choicesOf(lists) } : {})

  app.get(`/admin/${kind.path}/new`, async context => {
    const page = { visitor: visitorOf(context), kind, id: null, name: '', texts: { is_active: 'on' } }
    return htmlAnswer(context, formPage({ ...page, tag: crypto.randomUUID(), ...(await categories()) }))
  })

  app.post(`/admin/${kind.path}/new`, formLimit, async context => {
    const form = await readForm(context.req.raw)
    const texts = textsIn(kind, form.text)
    const category = form.text('category')
    const isIn = kind.path === 'products' && category !== ''
    const response = await own.call(context.env, {
      method: 'POST',
      route: isIn ? '/products/:category_id/products' : `/${kind.path}/`,
      ...(isIn && { parameters: { category_id: category } }),
      body: bodyOf(kind, texts, null),
      // So that a form that is sent twice, by a hand or by a network, creates once.
      headers: { 'Idempotency-Key': KEY.test(form.text('tag')) ? form.text('tag') : crypto.randomUUID() },
    })
    if (response.ok) return seeOther(`/admin/${kind.path}/${createdId(await response.json())}?created`)
    const refusal = await refusalOf(response)
    const page = { visitor: visitorOf(context), kind, id: null, tag: form.text('tag'), name: '', texts, refusal }
    return htmlAnswer(context, formPage({ ...page, ...(await categories()), chosenCategory: category }), refusal.status)
  })

  app.get(`/admin/${kind.path}/:id`, async context => {
    const visitor = visitorOf(context)
    const item = (await find(pathId(context))) ?? absent(kind)
    const told = TOLD[[...searchParamsOf(context).keys()].find(name => name in TOLD) ?? ''] ?? null
    const page = pageOf(visitor, kind, item)
    return htmlAnswer(context, formPage({ ...page, told, ...(await around(context, item)) }))
  })

  app.post(`/admin/${kind.path}/:id`, formLimit, async context => {
    const visitor = visitorOf(context)
    const form = await readForm(context.req.raw)
    const id = pathId(context)
    const texts = textsIn(kind, form.text)
    const item = (await find(id)) ?? absent(kind)
    const response = await own.call(context.env, {
      method: kind.method,
      route: `/${kind.path}/:${kind.parameter}`,
      parameters: { [kind.parameter]: String(id) },
      body: bodyOf(kind, texts, textsOf(kind, item.value)),
      headers: { 'If-Match': tagIn(form.text('tag')) },
    })
    if (response.ok) {
      await response.body?.cancel()
      return seeOther(`/admin/${kind.path}/${id}?saved`)
    }
    const refusal = await refusalOf(response)
    const newest = (await find(id)) ?? absent(kind)
    const page = { ...pageOf(visitor, kind, newest), texts, refusal, ...(await around(context, newest)) }
    const isConflict = refusal.status === 412
    const conflict = isConflict ? { theirs: textsOf(kind, newest.value) } : null
    // With the tag that was sent, unless both versions are shown.
    const tag = isConflict ? newest.tag : form.text('tag')
    return htmlAnswer(context, formPage({ ...page, tag, conflict }), refusal.status)
  })
}

function pageOf(
  visitor: Visitor,
  kind: ManagedKind,
  { value, tag }: ListedItem<Readonly<Record<string, unknown>>>,
): FormPage {
  return { visitor, kind, id: Number(value.id), tag, name: String(value.name), texts: textsOf(kind, value) }
}

/** What a product's page shows besides the form: its category and stars, and beneath it its reviews. */
async function productParts(
  lists: ManagedLists,
  context: PageContext,
  id: number,
): Promise<{ readonly aside: Child; readonly beneath: Child }> {
  const query = searchParamsOf(context)
  query.set('product_id', String(id))
  const path = `/admin/products/${id}`
  const [item, reviews] = await Promise.all([lists.products.find(id), reviewRows(lists, query, false, path)])
  if (!item) return absent(KINDS.products)
  const { category_id: categoryId, rating } = item.value
  const category = categoryId === null ? null : await lists.categories.find(categoryId)
  return {
    aside: (
      <div class="aside">
        <section class="card">
          <h2>Category</h2>
          <p dir="auto">{category ? <a href={`/admin/categories/${categoryId}`}>{category.value.name}</a> : 'None'}</p>
        </section>
        <RatingHistogram rating={rating} />
      </div>
    ),
    beneath: (
      <section class="beneath-form" aria-labelledby="reviews">
        <h2 id="reviews">Reviews</h2>
        <StarChips path={path} query={query} histogram={rating.histogram} />
        <div id="results">{reviews}</div>
      </section>
    ),
  }
}

/** The row of a product, as it is shown and as it is edited. */
function addRow(app: App, { lists, own, visitorOf }: PageParts): void {
  const rowOf = async (item: ListedItem<ProductItem>) => {
    const category = item.value.category_id === null ? null : await lists.categories.find(item.value.category_id)
    return `${<ProductTableRow item={item} category={category?.value.name} isSaved />}`
  }

  app.get('/admin/products/:id/row', async context => {
    visitorOf(context)
    const item = (await lists.products.find(pathId(context))) ?? absent(KINDS.products)
    if (!searchParamsOf(context).has('edit')) return htmlAnswer(context, await rowOf(item))
    const { id, name } = item.value
    const form = { id, tag: item.tag, name, price: price(item.value.price), problem: null }
    return htmlAnswer(context, `${<ProductRowForm {...form} />}`)
  })

  app.post('/admin/products/:id/row', formLimit, async context => {
    visitorOf(context)
    const form = await readForm(context.req.raw)
    const id = pathId(context)
    const item = (await lists.wholeProducts.find(id)) ?? absent(KINDS.products)
    const { description } = item.value
    const response = await own.call(context.env, {
      method: 'PUT',
      route: '/products/:product_id',
      parameters: { product_id: String(id) },
      body: { name: form.text('name'), price: numberIn(form.text('price')), description },
      headers: { 'If-Match': tagIn(form.text('tag')) },
    })
    const now = (await lists.products.find(id)) ?? absent(KINDS.products)
    if (response.ok) {
      await response.body?.cancel()
      const isPage = context.req.header('HX-Request') !== 'true'
      return isPage ? seeOther('/admin/') : htmlAnswer(context, await rowOf(now))
    }
    const refusal = await refusalOf(response)
    const isConflict = refusal.status === 412
    const theirs = `Somebody has changed it to “${now.value.name}”, ${price(now.value.price)}. Save again to replace that.`
    const problem = isConflict ? theirs : Object.values(refusal.fields).join('; ') || refusal.reason
    const sent = { name: form.text('name'), price: form.text('price'), tag: isConflict ? now.tag : form.text('tag') }
    return htmlAnswer(context, `${<ProductRowForm id={id} {...sent} problem={problem} />}`, refusal.status)
  })
}

function textsIn({ fields }: ManagedKind, text: (name: string) => string): Texts {
  return Object.fromEntries(fields.map(({ name }) => [name, text(name)]))
}

/** The tag that a form has; one that matches nothing if somebody has changed it. */
function tagIn(text: string): string {
  return TAG.test(text) ? text : '"none"'
}

function absent({ noun }: Pick<ManagedKind, 'noun'>): never {
  throw new HttpError(404, `There is no such ${noun}, or no longer`)
}

function createdId(body: unknown): number {
  return typeof body === 'object' && body !== null && 'id' in body ? Number(body.id) : 0
}
