import { CryptoHasher, gzipSync } from 'bun'

const MAX_AGE_SECONDS = 86_400

/** Answers a request for one file of ours: compressed once, kept by browsers for a day, then asked for by its hash. */
export type Asset = (request: Request) => Response

export function asset(contents: string, contentType: string): Asset {
  // A weak tag, as the bytes differ by coding while the file is the same (RFC 9110, 8.8.3).
  const tag = `W/"${new CryptoHasher('sha256').update(contents).digest('base64url').slice(0, 22)}"`
  const headers = {
    'Content-Type': `${contentType}; charset=utf-8`,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    ETag: tag,
    Vary: 'Accept-Encoding',
  }
  let compressed: Uint8Array<ArrayBuffer> | undefined
  return request => {
    if (request.headers.get('If-None-Match') === tag) return new Response(null, { status: 304, headers })
    if (!request.headers.get('Accept-Encoding')?.includes('gzip')) return new Response(contents, { headers })
    compressed ??= gzipSync(contents)
    return new Response(compressed, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}
