import { type Awaitable, whenThere } from '../../../awaitable.ts'
import { parsedPath, queryOf } from '../../../server/request-target.ts'
import type { RequestScope } from '../../../server/requests.ts'
import { type Cursor, type ListQuery, NO_LIMIT } from '../../storage/query.ts'
import type { Values } from '../../storage/resource.ts'
import type { IdPage, ListEnd, ListPage, Lists, Representation, Scanned } from '../../storage/store.ts'
import { COMPRESSED_MIN_CHARACTERS } from '../compression.ts'
import { derivedFrom } from '../derived.ts'
import { jsonResponse, notFound, WHOLE_MAX_CHARACTERS } from '../responses.ts'
import { type StreamedResponseOptions, streamedResponse } from '../streamed.ts'
import { NDJSON_TYPE } from '../validation/ndjson-type.ts'
import type { Show } from './chosen.ts'
import { prefersLines } from './negotiation.ts'
import type { Selection } from './page.ts'

/** The next page has its own. */
const PLACE_PARAMETERS: ReadonlySet<string> = new Set(['skip', 'limit', 'after_id', 'cursor'])

/** Number of items of the longest list that is sent in one piece. */
const PAGE_ITEMS = 200

/** The link of a page is kept with it for a URL of this length. Longer ones would take much more of the cache than the page. */
const KEPT_URL_MAX_CHARACTERS = 256

/**
 * Answers a list of any length in constant memory: a short one in one piece, a long one as a stream of pieces, each read when
 * the client has taken the one before. No cursor and no transaction is open while the client reads.
 */
export function listResponse<Row extends Values>(
  lists: Lists<Row>,
  selection: Selection<Row>,
  scope: RequestScope,
  show: Show = items => items,
): Awaitable<Response> {
  const { query, count } = selection
  const linkTo = ({ more, last }: ListEnd) => (more && last ? nextLink(scope.request.url, selection, last) : undefined)

  const long = async (total: number | null, known?: IdPage) => {
    if (selection.isSelection) {
      const page = known ?? (await lists.ids(query))
      const { found, count: looked } = await lists.read(page.ids)
      const chunks = piecesById(lists, page.ids.slice(looked), found)
      return streamed(chunks, scope, show, { link: linkTo(page), total })
    }
    const { after, skip } = query.from
    const start = skip === 0 ? after : (await lists.end({ ...query, from: { after, skip: 0 }, limit: skip })).last
    const end = await lists.end(query)
    // Reviews may come into the list while it is sent. With `after_id` none is left out: the next page begins after the last place.
    const limit = selection.isAfterId ? NO_LIMIT : query.limit
    const rest = { ...query, from: { after: start, skip: 0 }, until: end.last, limit }
    return streamed(pieces(lists, rest, await lists.scan(rest)), scope, show, { link: linkTo(end), total })
  }

  const short = (total: number | null, known?: IdPage) =>
    whenThere(lists.page({ ...query, limit: Math.min(query.limit, PAGE_ITEMS) }, known), page => {
      // Even if an item was deleted after its id was read: a stream would be cut off if the database failed now.
      const isWhole = page.isWhole && (!page.more || query.limit <= PAGE_ITEMS)
      if (!isWhole) return long(total, known)
      const answer = () => pageResponse(page, scope, show, { linkTo, total })
      if (page.items.length > 0) return answer()
      return lists.absentParent(query).then(absent => (absent ? notFound(absent) : answer()))
    })

  const either = (total: number | null) => {
    if (query.limit <= PAGE_ITEMS) return short(total)
    if (selection.isSelection) {
      return whenThere(lists.ids(query), known => (known.ids.length > PAGE_ITEMS ? long : short)(total, known))
    }
    return lists.end({ ...query, limit: PAGE_ITEMS }).then(({ more }) => (more ? long(total) : short(total)))
  }
  return count === null ? either(null) : whenThere(lists.count(query, count), either)
}

/**
 * The `Link` header (RFC 8288) to the next page: by `after_id` or `skip` if the request used it, else by a cursor if it is a
 * selection. It is relative, so no proxy can make it wrong, and keeps the request's other query parameters.
 */
function nextLink<Row extends Values>(url: string, selection: Selection<Row>, last: Cursor): string {
  const { query: list, isAfterId, isSelection, cursorAt } = selection
  const sent = new URLSearchParams(queryOf(url))
  const query = new URLSearchParams()
  if (isAfterId) query.set('after_id', String(last.at(-1)))
  else if (isSelection && !sent.has('skip')) query.set('cursor', cursorAt(last))
  else query.set('skip', String(list.from.skip + list.limit))
  query.set('limit', String(list.limit))
  for (const [name, value] of sent) if (!PLACE_PARAMETERS.has(name)) query.append(name, value)
  return `<${parsedPath(url)}?${query}>; rel="next"`
}

function pageResponse(
  page: ListPage,
  scope: RequestScope,
  show: Show,
  { linkTo, total }: { readonly linkTo: (end: ListEnd) => string | undefined; readonly total: number | null },
): Awaitable<Response> {
  const { url, headers } = scope.request
  const derived = derivedFrom(page)
  const kept = derived.link?.url === url ? derived.link : { url, value: linkTo(page) }
  if (url.length <= KEPT_URL_MAX_CHARACTERS) derived.link = kept
  const link = kept.value
  const isLines = prefersLines(headers.get('Accept'))
  if (isLines || (derived.json === undefined && charactersOf(page.items) > WHOLE_MAX_CHARACTERS)) {
    const isShort = charactersOf(page.items) < COMPRESSED_MIN_CHARACTERS
    return streamed(page.items.length > 0 ? [page.items] : [], scope, show, { link, total, isShort })
  }
  const json = derived.json ?? whenThere(show(page.items), items => `[${joined(items)}]`)
  return whenThere(json, json => {
    // A shorter text is quickly joined again, and would take as much of the cache as the items themselves.
    if (json.length >= COMPRESSED_MIN_CHARACTERS) derived.json = json
    return jsonResponse(scope, { json, link, leadsTo: link && page.last, source: page, isList: true, total })
  })
}

function streamed(pieces: Pieces, scope: RequestScope, show: Show, options: StreamedResponseOptions): Response {
  const isLines = prefersLines(scope.request.headers.get('Accept'))
  const texts = isLines ? lineTexts(pieces, show) : listTexts(pieces, show)
  return streamedResponse(texts, scope, { ...options, isList: true, ...(isLines && { contentType: NDJSON_TYPE }) })
}

function charactersOf(items: readonly Representation[]): number {
  let characters = 0
  for (const { json } of items) characters += json.length
  return characters
}

/** A list, piece by piece; no piece is empty. */
type Pieces = AsyncIterable<readonly Representation[]> | Iterable<readonly Representation[]>

/** A long list up to its limit, piece by piece, of which the first has been read. */
async function* pieces<Row extends Values>(
  lists: Lists<Row>,
  query: ListQuery<Row>,
  first: Scanned,
): AsyncGenerator<readonly Representation[]> {
  let { items, last } = first
  let left = query.limit
  while (true) {
    // All of a piece may have been deleted meanwhile.
    if (items.length > 0) yield items.slice(0, left)
    left -= items.length
    if (last === null || left <= 0) return
    ;({ items, last } = await lists.scan({ ...query, from: { after: [last], skip: 0 } }))
  }
}

/** The items of a list whose ids are known, after the first ones if these have been read. */
export async function* piecesById<Row extends Values>(
  lists: Lists<Row>,
  ids: readonly number[],
  first: readonly Representation[] = [],
): AsyncGenerator<readonly Representation[]> {
  if (first.length > 0) yield first
  for (let rest = ids; rest.length > 0; ) {
    const { found, count } = await lists.read(rest)
    if (found.length > 0) yield found
    rest = rest.slice(count)
  }
}

function joined(items: readonly Representation[]): string {
  let text = ''
  for (const item of items) text += text === '' ? item.json : `,${item.json}`
  return text
}

/** A JSON array, piece by piece. */
async function* listTexts(pieces: Pieces, show: Show): AsyncGenerator<string> {
  let before = '['
  for await (const items of pieces) {
    yield before + joined(await show(items))
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** NDJSON: an item on each line, piece by piece. */
async function* lineTexts(pieces: Pieces, show: Show): AsyncGenerator<string> {
  for await (const items of pieces) {
    let text = ''
    for (const { json } of await show(items)) text += `${json}\n`
    yield text
  }
}
