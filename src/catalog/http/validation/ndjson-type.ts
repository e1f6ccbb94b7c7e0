/** The media type of bodies with one JSON value per line. */
export const NDJSON_TYPE = 'application/x-ndjson'

/** Whether a `Content-Type` is NDJSON. */
export function isNdjson(contentType: string | null): boolean {
  return contentType !== null && /^\s*application\/x-ndjson\s*($|;)/i.test(contentType)
}
