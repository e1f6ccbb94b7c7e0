import { CryptoHasher, gzipSync } from 'bun'
import { contentCoding } from './content-coding.ts'

const YEAR_SECONDS = 31_536_000
const HASH_CHARACTERS = 22

/** Answers requests for one static file. */
export type Asset = (request: Request) => Response

/**
 * A static file, compressed once. Browsers cache its versioned address for good, and revalidate its plain address on each
 * use.
 */
export function asset(contents: string, contentType: string): Asset {
  const version = versionOf(contents)
  const plainHeaders = {
    // JSON has no parameter for the character set (RFC 8259, 11).
    'Content-Type': contentType === 'application/json' ? contentType : `${contentType}; charset=utf-8`,
    'Cache-Control': 'no-cache',
    // Weak, because the same file has different bytes in each coding (RFC 9110, 8.8.3).
    ETag: `W/"${version}"`,
    Vary: 'Accept-Encoding',
  }
  const immutableHeaders = { ...plainHeaders, 'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable` }
  let compressed: Uint8Array<ArrayBuffer> | undefined
  return ({ url, headers: requestHeaders }) => {
    const headers = url.endsWith(versionQuery(version)) ? immutableHeaders : plainHeaders
    const known = requestHeaders.get('If-None-Match')
    if (known === '*' || known?.includes(version)) return new Response(null, { status: 304, headers })
    const coding = contentCoding(requestHeaders.get('Accept-Encoding'), ['gzip'])
    if (coding === 'identity') return new Response(contents, { headers })
    compressed ??= gzipSync(contents)
    return new Response(compressed, { headers: { ...headers, 'Content-Encoding': coding } })
  }
}

/** A file's path with its version: the address changes whenever the contents change. */
export function versionedPath(path: string, contents: string): string {
  return path + versionQuery(versionOf(contents))
}

function versionQuery(version: string): string {
  return `?v=${version}`
}

function versionOf(contents: string): string {
  return new CryptoHasher('sha256').update(contents).digest('base64url').slice(0, HASH_CHARACTERS)
}
