/** @jsxImportSource hono/jsx */
import { refuseEncodedBody } from '../../server/encoded-body.ts'
import type { RequestScope } from '../../server/requests.ts'
import { framedPage, type Visitor } from './frame.tsx'
import { type OwnOperations, refusalOf } from './own-operations.ts'

const ROUTES = {
  products: '/products/:product_id',
  categories: '/categories/:category_id',
  users: '/users/:user_id',
  reviews: '/reviews/:review_id',
} as const

export const LISTS: Readonly<Record<keyof typeof ROUTES, string>> = {
  products: '/admin/',
  categories: '/admin/categories/',
  users: '/admin/users/',
  reviews: '/admin/reviews/',
}

/** Limit on the items of one request. */
const ITEMS_MAX = 1_000

/** An item to delete: `products/7 "tag"`. */
const ITEM = /^(?<path>products|categories|users|reviews)\/(?<id>[1-9]\d{0,15}) (?<tag>"[\w.]+")$/

interface DoomedItem {
  readonly text: string
  readonly path: keyof typeof ROUTES
  readonly id: string
  readonly tag: string
}

/** What became of an item: it is gone, or why it is not. */
interface Outcome {
  readonly item: string
  readonly isGone: boolean
  readonly reason: string
}

export interface Deletions {
  readonly items: readonly DoomedItem[]
  readonly isConfirmed: boolean
}

/** Reads the sent items: the one whose button was pressed, or else all that were selected. */
export async function readDeletions(request: Request): Promise<Deletions> {
  refuseEncodedBody(request.headers)
  const form = new URLSearchParams(await request.text())
  const only = form.get('only')
  const texts = (only === null ? form.getAll('item') : [only]).slice(0, ITEMS_MAX)
  const items = texts.flatMap(text => {
    const { path, id = '', tag = '' } = ITEM.exec(text)?.groups ?? {}
    return isPath(path) ? [{ text, path, id, tag }] : []
  })
  return { items, isConfirmed: form.has('confirmed') }
}

/** Deletes the items with the tags that the page has shown, one after another. */
export async function deleteItems(
  own: OwnOperations,
  visit: RequestScope,
  items: readonly DoomedItem[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { text, path, id, tag } of items) {
    const route = ROUTES[path]
    const name = /:(\w+)/.exec(route)?.[1] ?? ''
    const response = await own.call(visit, {
      method: 'DELETE',
      route,
      parameters: { [name]: id },
      headers: { 'If-Match': tag },
    })
    const refusal = response.ok ? null : await refusalOf(response)
    if (response.ok) await response.body?.cancel()
    outcomes.push({ item: text, isGone: refusal === null || refusal.status === 404, reason: reasonOf(refusal?.status) })
  }
  return outcomes
}

function reasonOf(status: number | undefined): string {
  if (status === undefined) return 'Deleted'
  if (status === 404) return 'Somebody else has deleted it already'
  return status === 412 ? 'Somebody has changed it since; look at it again' : 'It could not be deleted'
}

interface AskedDeletion {
  readonly visitor: Visitor
  readonly deletions: Deletions
  /** The name of each item, as far as it is known. */
  readonly names: readonly string[]
}

/** Asks before anything is deleted, in a browser without scripts. */
export function askingPage({ visitor, deletions: { items }, names }: AskedDeletion): string {
  const list = LISTS[items[0]?.path ?? 'products']
  return framedPage({
    title: 'Delete',
    visitor,
    section: list,
    children: (
      <form class="card narrow" action="/admin/deletions" method="post">
        <h1>{items.length === 1 ? 'Delete this for good?' : `Delete these ${items.length} for good?`}</h1>
        <ul>
          {names.map(name => (
            <li dir="auto">{name}</li>
          ))}
        </ul>
        <p class="quiet">What is deleted cannot be brought back. Products and users lose their reviews, too.</p>
        {items.map(({ text }) => (
          <input type="hidden" name="item" value={text} />
        ))}
        <div class="buttons">
          <button type="submit" class="danger" name="confirmed" value="yes">
            Delete
          </button>
          <a class="button" href={list}>
            Keep
          </a>
        </div>
      </form>
    ),
  })
}

function isPath(path: string | undefined): path is keyof typeof ROUTES {
  return path !== undefined && path in ROUTES
}
