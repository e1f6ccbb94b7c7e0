import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import { contentCoding } from './content-coding.ts'
import { type StreamCompressor, streamCompressor } from './stream-compressor.ts'

/**
 * The compression window as a power of two: 2 MiB. If each event repeats the one before and adds a little, the window must
 * hold a whole event; then each takes only a few bytes.
 */
const WINDOW_BITS = 21

const BROTLI_QUALITY = 6
const ZSTD_LEVEL = 3

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
  if (coding === 'identity') {
    const encoder = new TextEncoder()
    return { piece: async text => encoder.encode(text), end: async () => new Uint8Array(), [Symbol.dispose]: () => {} }
  }
  const stream = FLUSHED[coding]()
  if (coding !== 'gzip') {
    largeWindows += 1
    stream.once('close', () => {
      largeWindows -= 1
    })
  }
  return streamCompressor(stream)
}

const FLUSHED = {
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      },
    }),
  zstd: () =>
    createZstdCompress({
      flush: constants.ZSTD_e_flush,
      params: {
        [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
        [constants.ZSTD_c_windowLog]: WINDOW_BITS,
        [constants.ZSTD_c_enableLongDistanceMatching]: 1,
      },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
}
