import { errorAt, fault, type ValidationError } from '../validation/errors.ts'

export const IDEMPOTENCY_KEY = 'Idempotency-Key'
/** Present if this answer was given before. */
export const IDEMPOTENCY_REPLAYED = 'Idempotency-Replayed'

/**
 * The header's value: a string in double quotes, in which a backslash escapes a quote or a backslash (RFC 8941, 3.3.3), as
 * draft-ietf-httpapi-idempotency-key-header-07 requires it; or the bare key, as most clients send it.
 */
export const KEY_PATTERN = String.raw`^("([ !#-\[\]-~]|\\["\\]){1,255}"|[!#-+\--\[\]-~]{1,255})$`
const KEY = new RegExp(KEY_PATTERN)

/** The key in a header, which is the same with and without quotes; `null` if there is none. */
export function keyIn(header: string): string | null {
  if (!KEY.test(header)) return null
  return header.startsWith('"') ? header.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : header
}

export const UNREADABLE = headerError('a key has 1 to 255 printable ASCII characters, in double quotes or bare')

/** For a key that was sent with another request before. */
export const USED_BEFORE = headerError('this key was used for another request; every request needs a key of its own')

function headerError(reason: string): ValidationError {
  return errorAt(['header', IDEMPOTENCY_KEY], fault.value(reason))
}
