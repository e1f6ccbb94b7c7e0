/** The media type of bodies with one JSON value per line. */
export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether a `Content-Type` is NDJSON, or an `Accept` includes it. */
export function isNdjson(header: string | null): boolean {
  return header !== null && /(^|[\s,])application\/x-ndjson\s*($|[;,])/i.test(header)
}
