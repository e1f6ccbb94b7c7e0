import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib'
import { ByteBudget } from '../byte-budget.ts'
import { streamCompressor } from '../server/stream-compressor.ts'
import { type Coding, preferredCoding } from './compression.ts'

/** The most that a compressor of any coding takes: 2 MiB for its window, tables and buffers, and as much for the piece read ahead. */
const COMPRESSOR_BYTES = 4_194_304

/** Limit on the compressors of all streamed responses. When it is reached, further responses are not compressed. */
const COMPRESSORS_MAX_BYTES = 67_108_864

export const streamCompressors = new ByteBudget(COMPRESSORS_MAX_BYTES)

/**
 * The compression window as a power of two: 256 KiB. Of a list of reviews, zstd then leaves 12.5 %; a window of 2 MiB takes
 * 1.6 MiB more memory for each client, and leaves 10.1 %.
 */
const WINDOW_BITS = 18

const ZSTD_LEVEL = 3
/** Quality 4 takes 40 % more time, and leaves 4 % less. */
const BROTLI_QUALITY = 3
/** Level 6, the default, takes 60 % more time, and leaves 5 to 8 % less. */
const GZIP_LEVEL = 4

/** The coding for a streamed response to a request with this `Accept-Encoding`. */
export function streamedCoding(accepted: string | null): Coding | 'identity' {
  return streamCompressors.isSpent ? 'identity' : preferredCoding(accepted)
}

/** Turns the pieces of one text into bytes. Disposing frees its memory at any point of the text. */
export interface PieceEncoder extends Disposable {
  piece(text: string): Uint8Array | Promise<Uint8Array>
  /** The last bytes, if any. */
  end(): Uint8Array | Promise<Uint8Array>
}

export function pieceEncoder(coding: Coding | 'identity'): PieceEncoder {
  if (coding === 'identity') {
    const encoder = new TextEncoder()
    return { piece: text => encoder.encode(text), end: () => new Uint8Array(), [Symbol.dispose]: () => {} }
  }
  const stream = FLUSHED[coding]()
  streamCompressors.hold(COMPRESSOR_BYTES)
  stream.once('close', () => streamCompressors.release(COMPRESSOR_BYTES))
  return streamCompressor(stream)
}

const FLUSHED = {
  zstd: () =>
    createZstdCompress({
      flush: constants.ZSTD_e_flush,
      params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_windowLog]: WINDOW_BITS },
    }),
  br: () =>
    createBrotliCompress({
      flush: constants.BROTLI_OPERATION_FLUSH,
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
        [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      },
    }),
  gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH, level: GZIP_LEVEL }),
}
