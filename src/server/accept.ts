import { parseAccept } from 'hono/utils/accept'

/**
 * The quality that an `Accept` gives a media type: that of the most specific range that includes it (RFC 9110, 12.5.1), and 0 if
 * none does.
 */
export function qualityOf(type: string, accept: string): number {
  const ofRanges = qualities(accept)
  const ranges = [type, type.replace(/[^/]*$/, '*'), '*/*']
  return ranges.map(range => ofRanges.get(range)).find(quality => quality !== undefined) ?? 0
}

/** The same, but a range with a `*` does not name a type. */
export function namedQualityOf(type: string, accept: string): number {
  return qualities(accept).get(type) ?? 0
}

/** Whether the client shows pages, as browsers do: it names HTML, and does not rule it out. */
export function showsPages(headers: Headers): boolean {
  return namedQualityOf('text/html', headers.get('Accept') ?? '') > 0
}

function qualities(accept: string): ReadonlyMap<string, number> {
  return new Map(parseAccept(accept).map(({ type, q }) => [type.toLowerCase(), q]))
}
