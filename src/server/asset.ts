import { CryptoHasher, gzipSync } from 'bun'

const YEAR_SECONDS = 31_536_000
const HASH_CHARACTERS = 22

/** Answers a request for one file of ours. */
export type Asset = (request: Request) => Response

/**
 * A file that is compressed once. Under an address that ends with its version, browsers keep it for good; under its plain
 * one, they ask each time whether it has changed.
 */
export function asset(contents: string, contentType: string): Asset {
  const version = versionOf(contents)
  const plainHeaders = {
    'Content-Type': `${contentType}; charset=utf-8`,
    'Cache-Control': 'no-cache',
    // A weak tag, as the bytes differ by coding while the file is the same (RFC 9110, 8.8.3).
    ETag: `W/"${version}"`,
    Vary: 'Accept-Encoding',
  }
  const keptHeaders = { ...plainHeaders, 'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable` }
  let compressed: Uint8Array<ArrayBuffer> | undefined
  return ({ url, headers: asked }) => {
    const headers = url.endsWith(versionQuery(version)) ? keptHeaders : plainHeaders
    if (asked.get('If-None-Match')?.includes(version)) return new Response(null, { status: 304, headers })
    if (!asked.get('Accept-Encoding')?.includes('gzip')) return new Response(contents, { headers })
    compressed ??= gzipSync(contents)
    return new Response(compressed, { headers: { ...headers, 'Content-Encoding': 'gzip' } })
  }
}

/** A file's path with its version: another address when its contents change. */
export function versionedPath(path: string, contents: string): string {
  return path + versionQuery(versionOf(contents))
}

function versionQuery(version: string): string {
  return `?v=${version}`
}

function versionOf(contents: string): string {
  return new CryptoHasher('sha256').update(contents).digest('base64url').slice(0, HASH_CHARACTERS)
}
