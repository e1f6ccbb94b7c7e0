import { HttpError } from './errors.ts'

/** Throws a 415 for a body that is compressed or otherwise encoded, which would be read as if it were not. */
export function refuseEncodedBody(headers: Headers): void {
  const codings = headers.get('Content-Encoding')
  if (codings === null || /^[\s,]*(identity[\s,]*)*$/i.test(codings)) return
  // RFC 9110, 15.5.16: it says which codings are taken.
  throw new HttpError(415, 'The body is encoded; send it as it is', { 'Accept-Encoding': 'identity' })
}
