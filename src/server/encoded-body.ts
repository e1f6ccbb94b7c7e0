import { HttpError } from './errors.ts'

/** Throws a 415 for a compressed or otherwise encoded body: it would be read as if it were not encoded. */
export function refuseEncodedBody(headers: Headers): void {
  const codings = headers.get('Content-Encoding')
  if (codings === null || /^[\s,]*(identity[\s,]*)*$/i.test(codings)) return
  // The header tells the client which codings are accepted (RFC 9110, 15.5.16).
  throw new HttpError(415, 'The body is encoded; send it as it is', { 'Accept-Encoding': 'identity' })
}
