import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import { contentCoding } from './content-coding.ts'

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

/** Compresses one event stream. Disposing frees its window at any point of the stream. */
export interface EventCompressor extends Disposable {
  /** Compresses one event and flushes, so that the reader can decode all of it. */
  event(text: string): Promise<Uint8Array>
  /** The last bytes of the compressed stream. */
  end(): Promise<Uint8Array>
}

let largeWindows = 0

/** The best coding for an event stream that the client accepts. */
export function eventCoding(acceptEncoding: string | null): EventCoding {
  return contentCoding(acceptEncoding, largeWindows < LARGE_WINDOWS_MAX ? CODINGS : ['gzip'])
}

export function eventCompressor(coding: EventCoding): EventCompressor {
  if (coding === 'identity') {
    const encoder = new TextEncoder()
    return { event: async text => encoder.encode(text), end: async () => new Uint8Array(), [Symbol.dispose]: () => {} }
  }
  const { stream, flush } = FLUSHED[coding]()
  if (coding !== 'gzip') {
    largeWindows += 1
    stream.once('close', () => {
      largeWindows -= 1
    })
  }
  let chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const taken = () => {
    const bytes = Buffer.concat(chunks)
    chunks = []
    return bytes
  }
  return {
    event: text =>
      new Promise((resolve, reject) => {
        stream.once('error', reject)
        stream.write(text)
        stream.flush(flush, () => {
          stream.off('error', reject)
          resolve(taken())
        })
      }),
    end: () =>
      new Promise((resolve, reject) => {
        stream.once('error', reject)
        stream.once('end', () => resolve(taken()))
        stream.end()
      }),
    [Symbol.dispose]: () => {
      stream.destroy()
    },
  }
}

const FLUSHED = {
  br: () => ({
    stream: createBrotliCompress({
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      },
    }),
    flush: constants.BROTLI_OPERATION_FLUSH,
  }),
  zstd: () => ({
    stream: createZstdCompress({
      params: {
        [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
        [constants.ZSTD_c_windowLog]: WINDOW_BITS,
        [constants.ZSTD_c_enableLongDistanceMatching]: 1,
      },
    }),
    flush: constants.ZSTD_e_flush,
  }),
  gzip: () => ({ stream: createGzip(), flush: constants.Z_SYNC_FLUSH }),
}
