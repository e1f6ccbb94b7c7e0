import { type BudgetFigures, ByteBudget } from '../limits/byte-budget.ts'
import { contentCoding } from './content-coding.ts'

/** Limit on the compressors of all long texts. When it is reached, further texts are not compressed. */
const TEXT_COMPRESSORS_MAX_BYTES = 67_108_864

/** Limit on the large windows of all event streams, enough for 128. Further streams use gzip, whose window is 32 KiB. */
const EVENT_COMPRESSORS_MAX_BYTES = 1_073_741_824

const ZSTD_LEVEL = 3

type Coding = 'zstd' | 'br' | 'gzip'

export type StreamCoding = Coding | 'identity'

/** How streams of one kind are compressed. */
interface Kind {
  /** Best first. */
  readonly codings: readonly Coding[]
  /** The most memory that a compressor takes; 0 for one that takes so little that it does not count. */
  readonly bytes: Readonly<Record<Coding, number>>
  /** For all of them together. */
  readonly maxBytes: number
  /** The compression window of zstd and brotli, as a power of two. That of gzip is 32 KiB. */
  readonly windowBits: number
  /** Whether zstd also looks for matches far back in the window. */
  readonly isZstdLongDistance: boolean
  readonly brotliQuality: number
  readonly gzipLevel: number
}

/** Text that is sent in pieces. No coding takes more time than reading a list. */
export const OF_TEXTS: Kind = {
  codings: ['zstd', 'br', 'gzip'],
  // 2 MiB for its window, tables and buffers, and as much for the piece read ahead.
  bytes: { zstd: 4_194_304, br: 4_194_304, gzip: 4_194_304 },
  maxBytes: TEXT_COMPRESSORS_MAX_BYTES,
  // 256 KiB. Of a list of reviews, zstd then leaves 12.5 %; a window of 2 MiB takes 1.6 MiB more memory for each client, and
  // leaves 10.1 %.
  windowBits: 18,
  isZstdLongDistance: false,
  // 4 takes 40 % more time, and leaves 4 % less.
  brotliQuality: 3,
  // 6, the default, takes 60 % more time, and leaves 5 to 8 % less.
  gzipLevel: 4,
}

/**
 * Event streams. The window is 2 MiB. If each event repeats the one before and adds a little, the window must hold a whole
 * event; then each takes only a few bytes.
 */
export const OF_EVENTS: Kind = {
  codings: ['br', 'zstd', 'gzip'],
  bytes: { br: 8_388_608, zstd: 8_388_608, gzip: 0 },
  maxBytes: EVENT_COMPRESSORS_MAX_BYTES,
  windowBits: 21,
  isZstdLongDistance: true,
  brotliQuality: 6,
  gzipLevel: 6,
}

/** Turns the pieces of one text into bytes. Disposing frees its memory at any point of the text. */
export interface StreamCompressor extends Disposable {
  /** Compresses one piece on another thread, as far as the reader needs to decode all of it. */
  piece(text: string): Promise<Uint8Array>
  /** The last bytes, if any. */
  end(): Promise<Uint8Array>
}

/** Opens compressors for one kind of stream, within a memory budget. */
export class Compressors {
  readonly #kind: Kind
  readonly #budget: ByteBudget

  constructor(kind: Kind) {
    this.#kind = kind
    this.#budget = new ByteBudget(kind.maxBytes)
  }

  get figures(): BudgetFigures {
    return this.#budget.figures
  }

  /** The best coding for a stream that the client accepts and that there is memory for. */
  coding(acceptEncoding: string | null): StreamCoding {
    const { codings, bytes } = this.#kind
    return contentCoding(acceptEncoding, this.#budget.isSpent ? codings.filter(coding => bytes[coding] === 0) : codings)
  }

  open(coding: StreamCoding): StreamCompressor {
    if (coding === 'identity') return uncompressed()
    const bytes = this.#kind.bytes[coding]
    const stream = flushed(coding, this.#kind)
    this.#budget.hold(bytes)
    stream.once('close', () => this.#budget.release(bytes))
    return compressing(stream)
  }
}

function uncompressed(): StreamCompressor {
  const encoder = new TextEncoder()
  return { piece: async text => encoder.encode(text), end: async () => new Uint8Array(), [Symbol.dispose]: () => {} }
}

function compressing(stream: ReturnType<typeof flushed>): StreamCompressor {
  let chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const settled = (start: (done: () => void) => void) =>
    new Promise<Uint8Array>((resolve, reject) => {
      stream.once('error', reject)
      start(() => {
        stream.off('error', reject)
        resolve(Buffer.concat(chunks))
        chunks = []
      })
    })
  return {
    piece: text => settled(done => stream.write(text, error => !error && done())),
    end: () => settled(done => stream.once('end', done).end()),
    [Symbol.dispose]: () => {
      stream.destroy()
    },
  }
}

/** A stream that flushes after each write. */
function flushed(coding: Coding, { windowBits, isZstdLongDistance, brotliQuality, gzipLevel }: Kind) {
  // Loaded here, because it takes 10 ms, and a server may be asked for no stream.
  const { constants, createBrotliCompress, createGzip, createZstdCompress } = process.getBuiltinModule('node:zlib')
  switch (coding) {
    case 'zstd':
      return createZstdCompress({
        flush: constants.ZSTD_e_flush,
        params: {
          [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL,
          [constants.ZSTD_c_windowLog]: windowBits,
          ...(isZstdLongDistance && { [constants.ZSTD_c_enableLongDistanceMatching]: 1 }),
        },
      })
    case 'br':
      return createBrotliCompress({
        flush: constants.BROTLI_OPERATION_FLUSH,
        params: {
          [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
          [constants.BROTLI_PARAM_LGWIN]: windowBits,
          [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
        },
      })
    case 'gzip':
      return createGzip({ flush: constants.Z_SYNC_FLUSH, level: gzipLevel })
  }
}
