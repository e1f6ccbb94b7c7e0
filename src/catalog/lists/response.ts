import { type Awaitable, whenThere } from '../../awaitable.ts'
import type { RequestScope } from '../../server/requests.ts'
import { COMPRESSED_MIN_CHARACTERS } from '../compression.ts'
import { jsonResponse, notFound, WHOLE_MAX_CHARACTERS } from '../responses.ts'
import type { ListEnd, ListItem, Listing, Range } from '../storage/listing.ts'
import { streamedResponse } from '../streamed.ts'
import { NDJSON_TYPE } from '../validation/ndjson-type.ts'
import { nextLink } from './link.ts'
import { prefersLines } from './negotiation.ts'
import type { PageQuery } from './page.ts'

/** Number of items read at once, and of the longest list that is sent in one piece. */
const CHUNK_ITEMS = 200

/**
 * Answers a list of any length in constant memory: a short one in one piece, a long one as a stream of chunks, each read when
 * the client has taken the one before. No cursor and no transaction is open while the client reads.
 */
export function listResponse(listing: Listing, page: PageQuery, scope: RequestScope): Awaitable<Response> {
  const range: Range = {
    afterId: page.after_id ?? 0,
    skip: page.skip,
    limit: page.limit,
  }
  if (range.limit <= CHUNK_ITEMS) return readResponse(listing, page, range, scope)
  return listing.end({ ...range, limit: CHUNK_ITEMS }).then(async ({ more }) => {
    if (!more) return readResponse(listing, page, range, scope)
    // Long lists bypass the cache: their items would displace the ones that are read often.
    const { afterId, skip } = range
    const start = skip === 0 ? afterId : (await listing.end({ afterId, skip: 0, limit: skip })).lastId
    const end = await listing.end(range)
    const first = await listing.scan(start, end.lastId)
    return streamed(chunksFrom(listing, first, end.lastId), scope, { link: linkTo(page, scope, end) })
  })
}

/** Answers a list that may be short. */
function readResponse(listing: Listing, page: PageQuery, range: Range, scope: RequestScope): Awaitable<Response> {
  return whenThere(listing.read({ ...range, limit: Math.min(range.limit, CHUNK_ITEMS) }), first => {
    const { items, more, isComplete, lastId, kept } = first
    const inChunks = (end: ListEnd, isShort = false) =>
      streamed(chunksFrom(listing, items, end.lastId), scope, { link: linkTo(page, scope, end), isShort })
    const response = () => {
      // Even if an item was deleted after its id was read: a stream would be cut off if the database failed now.
      const isWhole = !more || (isComplete && range.limit <= CHUNK_ITEMS)
      if (!isWhole) return listing.end(range).then(end => inChunks(end))
      const isLines = prefersLines(scope.request.headers.get('Accept'))
      if (isLines || (kept?.json === undefined && charactersOf(items) > WHOLE_MAX_CHARACTERS)) {
        return inChunks({ more, lastId }, charactersOf(items) < COMPRESSED_MIN_CHARACTERS)
      }
      const { url } = scope.request
      const json = kept?.json ?? `[${joined(items)}]`
      const link = kept?.link?.url === url ? kept.link : { url, value: linkTo(page, scope, { more, lastId }) }
      if (kept) {
        kept.link = link
        // A shorter text is quickly joined again, and would take as much of the cache as the items themselves.
        if (json.length >= COMPRESSED_MIN_CHARACTERS) kept.json = json
      }
      return jsonResponse(scope, { json, link: link.value, kept, isList: true })
    }
    if (items.length > 0) return response()
    return listing.absentParent().then(absent => (absent ? notFound(absent) : response()))
  })
}

function linkTo(page: PageQuery, { request }: RequestScope, end: ListEnd): string | undefined {
  return end.more && page.limit > 0 ? nextLink(request.url, page, end.lastId) : undefined
}

function streamed(
  chunks: AsyncIterable<readonly ListItem[]>,
  scope: RequestScope,
  options: { readonly link: string | undefined; readonly isShort?: boolean },
): Response {
  if (!prefersLines(scope.request.headers.get('Accept')))
    return streamedResponse(listTexts(chunks), scope, { ...options, isList: true })
  return streamedResponse(lineTexts(chunks), scope, { ...options, isList: true, contentType: NDJSON_TYPE })
}

function charactersOf(items: readonly ListItem[]): number {
  let characters = 0
  for (const { json } of items) characters += json.length
  return characters
}

/** A list up to the id `untilId`, chunk by chunk, of which the first has been read. */
async function* chunksFrom(
  listing: Listing,
  first: readonly ListItem[],
  untilId: number,
): AsyncGenerator<readonly ListItem[]> {
  let items = first
  for (let lastId = items.at(-1)?.id; lastId !== undefined; lastId = items.at(-1)?.id) {
    yield items
    if (lastId >= untilId) return
    items = await listing.scan(lastId, untilId)
  }
}

function joined(items: readonly ListItem[]): string {
  let text = ''
  for (const item of items) text += text === '' ? item.json : `,${item.json}`
  return text
}

/** A JSON array, chunk by chunk. */
async function* listTexts(chunks: AsyncIterable<readonly ListItem[]>): AsyncGenerator<string> {
  let before = '['
  for await (const items of chunks) {
    yield before + joined(items)
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}

/** NDJSON: an item on each line, chunk by chunk. */
async function* lineTexts(chunks: AsyncIterable<readonly ListItem[]>): AsyncGenerator<string> {
  for await (const items of chunks) {
    let text = ''
    for (const { json } of items) text += `${json}\n`
    yield text
  }
}
