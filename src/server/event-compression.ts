import { constants } from 'node:zlib'
import { contentCoding } from './content-coding.ts'
import { type CompressionSettings, type StreamCompressor, streamCompressor } from './stream-compressor.ts'

/**
 * The window is 2 MiB. If each event repeats the one before and adds a little, the window must hold a whole event; then each
 * takes only a few bytes.
 */
const SETTINGS: CompressionSettings = {
  windowBits: 21,
  zstdLevel: 3,
  isZstdLongDistance: true,
  brotliQuality: 6,
  gzipLevel: constants.Z_DEFAULT_COMPRESSION,
}

/** Streams with a large window at once; each takes up to about 8 MiB. Further streams use gzip, whose window is 32 KiB. */
const LARGE_WINDOWS_MAX = 128

/** Best first. */
const CODINGS = ['br', 'zstd', 'gzip'] as const

type EventCoding = (typeof CODINGS)[number] | 'identity'

let largeWindows = 0

/** The best coding for an event stream that the client accepts. */
export function eventCoding(acceptEncoding: string | null): EventCoding {
  return contentCoding(acceptEncoding, largeWindows < LARGE_WINDOWS_MAX ? CODINGS : ['gzip'])
}

export function eventCompressor(coding: EventCoding): StreamCompressor {
  if (coding === 'identity' || coding === 'gzip') return streamCompressor(coding, SETTINGS)
  largeWindows += 1
  return streamCompressor(coding, SETTINGS, () => {
    largeWindows -= 1
  })
}
