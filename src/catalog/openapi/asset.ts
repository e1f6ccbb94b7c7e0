import { gzipSync } from 'bun'

const MAX_AGE_SECONDS = 86_400

/** Answers a request for one file of ours, compressed once and kept so. */
export type Asset = (acceptEncoding: string | undefined) => Response

export function asset(contents: string, contentType: string): Asset {
  const headers = {
    'Content-Type': `${contentType}; charset=utf-8`,
    'Cache-Control': `public, max-age=${MAX_AGE_SECONDS}`,
    Vary: 'Accept-Encoding',
  }
  let compressed: Uint8Array<ArrayBuffer> | undefined
  return acceptEncoding => {
    if (!acceptEncoding?.includes('gzip')) return new Response(contents, { headers })
    compressed ??= gzipSync(contents)
    return new Response(compressed, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}
