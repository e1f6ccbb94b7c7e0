/** @jsxImportSource hono/jsx */
import { z } from '@hono/zod-openapi'
import type { Child } from 'hono/jsx'
import { readForm } from '../../pages/form.ts'
import type { App } from '../../server/requests.ts'
import { IDEMPOTENCY_KEY } from '../http/idempotency/header.ts'
import { type PageContext, type PageParts, pathId, searchParamsOf, seeOther } from './answer.ts'
import { bodyOf, type Texts, textsIn, textsOf } from './form-texts.ts'
import { type FormPage, formPage } from './forms.tsx'
import { choicesOf } from './list-pages.tsx'
import type { ListedItem } from './lists.ts'
import { itemRoute, KINDS, type ManagedKind, type ManagedLists } from './managed.ts'
import { type OwnOperations, type Refusal, refusalOf } from './own-operations.ts'
import { RatingHistogram, reviewTable, StarChips } from './reviews.tsx'

const TOLD = new Map([
  ['saved', 'Saved.'],
  ['created', 'Created.'],
])

const SENT_BEFORE =
  'An earlier version of this form was already sent and stored. Look for it in the list before you create another.'

const TAG = /^"[\w.]+"$/
const KEY = /^[\w-]+$/

const Created = z.object({ id: z.int() })

type FormItem = ListedItem<Readonly<Record<string, unknown>>>

/** Adds the forms of products, categories and users. */
export function addForms(app: App, parts: PageParts): void {
  for (const kind of Object.values(KINDS)) addForm(app, parts, kind)
}

function addForm(app: App, { lists, own, framed }: PageParts, kind: ManagedKind): void {
  const { list } = kind
  const isOfProducts = list === 'products'
  const find = (id: number): Promise<FormItem> => lists.whole[list].get(id)
  const categories = async () => (isOfProducts ? { categories: await choicesOf(lists.categories) } : {})
  const pageOf = async (context: PageContext, { value, tag }: FormItem): Promise<FormPage> => {
    const id = Number(value.id)
    const around = isOfProducts ? await productParts(lists, context, id) : {}
    return { kind, id, tag, name: String(value.name), texts: textsOf(kind, value), ...around }
  }

  app.get(`/admin/${list}/new`, async context => {
    const page = { kind, id: null, tag: crypto.randomUUID(), name: '', texts: { is_active: 'on' } }
    return framed(context, formPage({ ...page, ...(await categories()) }))
  })

  app.post(`/admin/${list}/new`, async context => {
    const { text } = await readForm(context.req.raw)
    const texts = textsIn(kind, text)
    const [tag, category] = [text('tag'), text('category')]
    const response = await own.call(context.env, {
      method: 'POST',
      ...(isOfProducts && category !== ''
        ? { route: '/products/:category_id/products', id: category }
        : { route: `/${list}/` }),
      body: bodyOf(kind, texts, null),
      // So that a form that is sent twice, by a hand or by a network, creates once.
      headers: { [IDEMPOTENCY_KEY]: KEY.test(tag) ? tag : crypto.randomUUID() },
    })
    if (response.ok) return seeOther(`/admin/${list}/${Created.parse(await response.json()).id}?created`)
    const refused = await refusalOf(response)
    // The answer to an earlier version of the form was lost.
    const wasSent = IDEMPOTENCY_KEY in refused.fields
    const page = {
      ...{ kind, id: null, name: '', texts, ...(await categories()), chosenCategory: category },
      tag: wasSent ? crypto.randomUUID() : tag,
      refusal: wasSent ? { ...refused, reason: SENT_BEFORE } : refused,
    }
    return framed(context, formPage(page), refused.status)
  })

  app.get(`/admin/${list}/:id`, async context => {
    const item = await find(pathId(context))
    const told = [...searchParamsOf(context).keys()].flatMap(name => TOLD.get(name) ?? [])[0]
    return framed(context, formPage({ ...(await pageOf(context, item)), told }))
  })

  app.post(`/admin/${list}/:id`, async context => {
    const { text } = await readForm(context.req.raw)
    const id = pathId(context)
    const texts = textsIn(kind, text)
    const refusal = await update(own, context, kind, { item: await find(id), texts, tag: text('tag') })
    if (!refusal) return seeOther(`/admin/${list}/${id}?saved`)
    const newest = await pageOf(context, await find(id))
    // The tag is the one that was sent, unless both versions are shown.
    const others = refusal.status === 412 ? { theirs: newest.texts } : { tag: text('tag') }
    return framed(context, formPage({ ...newest, texts, refusal, ...others }), refusal.status)
  })
}

interface SentForm {
  readonly item: FormItem
  readonly texts: Texts
  /** Of the version that the form shows. */
  readonly tag: string
}

/** Resolves to `null` if it is saved. */
export function update(
  own: OwnOperations,
  { env }: PageContext,
  kind: ManagedKind,
  { item: { value }, texts, tag }: SentForm,
): Promise<Refusal | null> {
  return own.change(env, {
    method: kind.method,
    route: itemRoute(kind.list),
    id: Number(value.id),
    body: bodyOf(kind, texts, textsOf(kind, value)),
    // A tag that somebody has changed matches nothing.
    headers: { 'If-Match': TAG.test(tag) ? tag : '"none"' },
  })
}

/** The parts of a product's page around the form: its category and stars beside it, and its reviews beneath it. */
async function productParts(
  lists: ManagedLists,
  context: PageContext,
  id: number,
): Promise<{ readonly aside: Child; readonly beneath: Child }> {
  const query = searchParamsOf(context)
  query.set('product_id', String(id))
  const path = `/admin/products/${id}`
  const [item, reviews] = await Promise.all([lists.products.get(id), reviewTable(lists, query, path)])
  const { category_id: categoryId, rating } = item.value
  const category = await lists.categories.find(categoryId ?? 0)
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
