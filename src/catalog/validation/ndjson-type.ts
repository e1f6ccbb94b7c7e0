/** One JSON value on each line; the media type of bodies with many resources. */
export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether a `Content-Type` names NDJSON, or an `Accept` does as one of its types. */
export function isNdjson(header: string | null): boolean {
  return header !== null && /(^|[\s,])application\/x-ndjson\s*($|[;,])/i.test(header)
}
