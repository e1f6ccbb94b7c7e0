import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'

/**
 * How far back compression looks, as a power of two: 2 MiB. Where each event repeats the one before and adds a little, the
 * whole of it must be within reach; then an event costs a few bytes.
 */
const WINDOW_BITS = 21

const BROTLI_QUALITY = 6
const ZSTD_LEVEL = 3

/** Streams with a large window at once; each takes up to some 8 MiB. Others have gzip's, of 32 KiB. */
const LARGE_WINDOWS_MAX = 128

/** Best first. */
const CODINGS = ['br', 'zstd', 'gzip'] as const

type ContentCoding = (typeof CODINGS)[number] | 'identity'

/**
 * Takes the text of one event at a time; the bytes that come back are all that its reader needs to have it whole.
 * Disposing frees its window, wherever the stream stands.
 */
export interface EventCompressor extends Disposable {
  event(text: string): Promise<Uint8Array>
  /** What closes the stream. */
  end(): Promise<Uint8Array>
}

let largeWindows = 0

/** The coding that the client likes best, and of those that it likes alike, the best (RFC 9110, 12.5.3). */
export function contentCoding(acceptEncoding: string | null): ContentCoding {
  const weights = new Map<string, number>()
  for (const part of (acceptEncoding ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(word => word.trim())
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const weightOf = (coding: ContentCoding) => weights.get(coding) ?? weights.get('*') ?? 0
  const possible = largeWindows < LARGE_WINDOWS_MAX ? CODINGS : (['gzip'] as const)
  const best = possible.reduce((one, other) => (weightOf(other) > weightOf(one) ? other : one))
  // Who does not name identity takes it, but likes anything else better.
  return weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : 'identity'
}

export function eventCompressor(coding: ContentCoding): EventCompressor {
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
