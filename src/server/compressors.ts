import { type BudgetFigures, ByteBudget } from '../limits/byte-budget.ts'
import { contentCoding } from './content-coding.ts'
import {
  type CompressionSettings,
  type StreamCoding,
  type StreamCompressor,
  streamCompressor,
} from './stream-compressor.ts'

/** Limit on the compressors of all long texts. When it is reached, further texts are not compressed. */
const TEXT_COMPRESSORS_MAX_BYTES = 67_108_864

/** Limit on the large windows of all event streams, enough for 128. Further streams use gzip, whose window is 32 KiB. */
const EVENT_COMPRESSORS_MAX_BYTES = 1_073_741_824

type Coding = Exclude<StreamCoding, 'identity'>

/** How streams of one kind are compressed. */
interface Kind {
  /** Best first. */
  readonly codings: readonly Coding[]
  /** Those that take so little memory that they are not counted. */
  readonly uncounted: readonly Coding[]
  /** The most that any other compressor takes. */
  readonly bytes: number
  /** For all of them together. */
  readonly maxBytes: number
  readonly settings: CompressionSettings
}

/** Text that is sent in pieces. No coding takes more time than reading a list. */
export const OF_TEXTS: Kind = {
  codings: ['zstd', 'br', 'gzip'],
  uncounted: [],
  // 2 MiB for its window, tables and buffers, and as much for the piece read ahead.
  bytes: 4_194_304,
  maxBytes: TEXT_COMPRESSORS_MAX_BYTES,
  settings: {
    // 256 KiB. Of a list of reviews, zstd then leaves 12.5 %; a window of 2 MiB takes 1.6 MiB more memory for each client, and
    // leaves 10.1 %.
    windowBits: 18,
    zstdLevel: 3,
    isZstdLongDistance: false,
    // 4 takes 40 % more time, and leaves 4 % less.
    brotliQuality: 3,
    // 6, the default, takes 60 % more time, and leaves 5 to 8 % less.
    gzipLevel: 4,
  },
}

/**
 * Event streams. The window is 2 MiB. If each event repeats the one before and adds a little, the window must hold a whole
 * event; then each takes only a few bytes.
 */
export const OF_EVENTS: Kind = {
  codings: ['br', 'zstd', 'gzip'],
  uncounted: ['gzip'],
  bytes: 8_388_608,
  maxBytes: EVENT_COMPRESSORS_MAX_BYTES,
  settings: {
    windowBits: 21,
    zstdLevel: 3,
    isZstdLongDistance: true,
    brotliQuality: 6,
    gzipLevel: 6,
  },
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
    return contentCoding(acceptEncoding, this.#budget.isSpent ? this.#kind.uncounted : this.#kind.codings)
  }

  open(coding: StreamCoding): StreamCompressor {
    const { uncounted, bytes, settings } = this.#kind
    if (coding === 'identity' || uncounted.includes(coding)) return streamCompressor(coding, settings)
    this.#budget.hold(bytes)
    return streamCompressor(coding, settings, () => this.#budget.release(bytes))
  }
}
