import { jsonTextAnswer, notFound } from '../answers.ts'
import type { CatalogContext } from '../operation.ts'
import { nextLink } from './link.ts'
import type { ListItem, Listing, Range } from './listing.ts'
import type { PageQuery } from './page.ts'

/** Items that are read at once, and the longest list that is answered in one piece. */
const CHUNK_ITEMS = 200

/** A reader of a long list may pause for so long. */
const READER_IDLE_SECONDS = 255

/**
 * Answers a list of any length in flat memory: a short one in one piece, a long one as a stream of chunks, each read when
 * the client has taken the one before. No cursor and no transaction is open while the client reads.
 */
export async function listAnswer(listing: Listing, page: PageQuery, context: CatalogContext): Promise<Response> {
  const range: Range = {
    afterId: page.after_id ?? 0,
    untilId: Number.MAX_SAFE_INTEGER,
    skip: page.skip,
    limit: page.limit,
  }
  const first = await listing.read({ ...range, limit: Math.min(range.limit, CHUNK_ITEMS) })
  const lastItem = first.items.at(-1)
  if (!lastItem) {
    const absent = await listing.absentParent()
    if (absent) return notFound(absent)
  }
  const whole = first.items.length === range.limit || !first.more
  const end = whole ? { lastId: lastItem?.id ?? 0, more: first.more } : await listing.end(range)
  const headers = end.more && range.limit > 0 ? { Link: nextLink(context.req, page, end.lastId) } : {}
  if (whole) return jsonTextAnswer(`[${joined(first.items)}]`, headers)
  context.env.server.timeout(context.req.raw, READER_IDLE_SECONDS)
  const rest = remainingChunks(listing, { ...range, untilId: end.lastId }, first.items)
  return new Response(jsonArrayStream(rest), { headers: { 'Content-Type': 'application/json', ...headers } })
}

async function* remainingChunks(
  listing: Listing,
  range: Range,
  first: readonly ListItem[],
): AsyncGenerator<readonly ListItem[]> {
  let items = first
  for (;;) {
    const last = items.at(-1)
    if (!last) return
    yield items
    if (last.id >= range.untilId) return
    items = (await listing.read({ afterId: last.id, untilId: range.untilId, skip: 0, limit: CHUNK_ITEMS })).items
  }
}

function joined(items: readonly ListItem[]): string {
  let text = ''
  for (const item of items) text += text === '' ? item.json : `,${item.json}`
  return text
}

/** A JSON array, written chunk by chunk as the reader asks for more. */
function jsonArrayStream(chunks: AsyncGenerator<readonly ListItem[]>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let before = '['
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done) {
          controller.enqueue(encoder.encode(']'))
          controller.close()
          return
        }
        controller.enqueue(encoder.encode(before + joined(value)))
        before = ','
      },
      async cancel() {
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
