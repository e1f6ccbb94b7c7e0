/** @jsxImportSource hono/jsx */
import { withoutHalf } from '../../limits/code-points.ts'
import { type Form, readForm } from '../../pages/form.ts'
import { showsPages } from '../../server/accept.ts'
import type { App, RequestScope } from '../../server/requests.ts'
import { type PageParts, seeOther } from './answer.ts'
import { type Framed, usersNeedAdmin } from './frame.tsx'
import { itemRoute, LISTS, type ListName, type ManagedLists } from './managed.ts'
import type { OwnOperations, Refusal } from './own-operations.ts'

/** Limit on the items of one request. */
const ITEMS_MAX = 1_000

/** An item to delete: `products/7 "tag"`. */
const ITEM = /^(?<list>products|categories|users|reviews)\/(?<id>[1-9]\d{0,15}) (?<tag>"[\w.]+")$/

interface DoomedItem {
  readonly text: string
  readonly list: ListName
  readonly id: string
  readonly tag: string
}

/** The result for one item. */
interface Outcome {
  readonly item: string
  /** Why it is still there; `null` if it is gone. */
  readonly reason: string | null
}

/** Adds the deletion of what the lists show. */
export function addDeletions(app: App, { lists, own, visitorOf, framed }: PageParts): void {
  app.post('/admin/deletions', async context => {
    const form = await readForm(context.req.raw)
    const items = itemsIn(form)
    const list = items[0]?.list ?? 'products'
    if (items.length === 0) return seeOther(LISTS[list].path)
    if (visitorOf(context).scope === 'write' && items.some(item => item.list === 'users')) throw usersNeedAdmin()
    if (form.text('confirmed') === '')
      return framed(context, askingPage(list, items, await namesOf(lists, list, items)))
    const outcomes = await deleteItems(own, context.env, items)
    if (!showsPages(context.req.raw.headers)) return context.json(outcomes)
    const gone = outcomes.filter(({ reason }) => reason === null).length
    return seeOther(`${LISTS[list].path}?deleted=${gone}&kept=${outcomes.length - gone}`)
  })
}

/** The item whose button was pressed, or else all that were selected. */
function itemsIn(form: Form): DoomedItem[] {
  const only = form.texts('only')
  const texts = only.length > 0 ? only : form.texts('item')
  return texts.slice(0, ITEMS_MAX).flatMap(text => {
    const { list = '', id = '', tag = '' } = ITEM.exec(text)?.groups ?? {}
    return isListName(list) ? [{ text, list, id, tag }] : []
  })
}

function isListName(name: string): name is ListName {
  return name in LISTS
}

async function namesOf(lists: ManagedLists, list: ListName, items: readonly DoomedItem[]): Promise<string[]> {
  const ids = items.filter(item => item.list === list).map(({ id }) => Number(id))
  if (list === 'reviews') {
    const found = await lists.reviews.some(ids)
    return ids.map(id => {
      const { rating = '?', comment = '' } = found.get(id) ?? {}
      return `★ ${rating}: ${withoutHalf(comment.slice(0, 120))}`
    })
  }
  const found = await lists[list].some(ids)
  return ids.map(id => found.get(id)?.name ?? `${list} ${id}`)
}

/** Deletes the items with the tags that the page has shown, one after another. */
async function deleteItems(own: OwnOperations, visit: RequestScope, items: readonly DoomedItem[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (const { text, list, id, tag } of items) {
    const headers = { 'If-Match': tag }
    const refusal = await own.change(visit, { method: 'DELETE', route: itemRoute(list), id, headers })
    outcomes.push({ item: text, reason: refusal && reasonOf(refusal) })
  }
  return outcomes
}

function reasonOf({ status }: Refusal): string | null {
  // Somebody else has deleted it already.
  if (status === 404) return null
  return status === 412 ? 'Somebody has changed it since; look at it again' : 'It could not be deleted'
}

/** Asks before anything is deleted, in a browser without scripts. */
function askingPage(list: ListName, items: readonly DoomedItem[], names: readonly string[]): Framed {
  return {
    title: 'Delete',
    section: LISTS[list].path,
    content: (
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
          <a class="button" href={LISTS[list].path}>
            Keep
          </a>
        </div>
      </form>
    ),
  }
}

/** The text that names an item in a form, with the tag that the page shows. */
export function itemText(list: ListName, id: number, tag: string): string {
  return `${list}/${id} ${tag}`
}

/** The button that deletes the item of a page. It stands in an element with `data-item`. */
export function DeleteButton({ item }: { readonly item: string }) {
  return (
    <form class="actions" action="/admin/deletions" method="post">
      <div>
        <button type="submit" class="danger" name="only" value={item} data-delete>
          Delete
        </button>
      </div>
    </form>
  )
}
