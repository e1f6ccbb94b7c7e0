import { parseAccept } from 'hono/utils/accept'
import { NDJSON_TYPE } from '../validation/ndjson-type.ts'

/** The media ranges that include JSON, the most specific first (RFC 9110, 12.5.1). */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

/**
 * Whether an `Accept` asks for NDJSON: it names the type, and does not prefer JSON. Every other client gets JSON, also if it
 * accepts neither.
 */
export function prefersLines(accept: string | null): boolean {
  // Nearly all requests name only JSON, or no type.
  if (accept === null || !/x-ndjson/i.test(accept)) return false
  const qualities = new Map(parseAccept(accept).map(({ type, q }) => [type.toLowerCase(), q]))
  const ofLines = qualities.get(NDJSON_TYPE) ?? 0
  const ofJson = JSON_RANGES.map(range => qualities.get(range)).find(quality => quality !== undefined) ?? 0
  return ofLines > 0 && ofLines >= ofJson
}
