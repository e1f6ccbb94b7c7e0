import { ByteBudget } from '../../limits/byte-budget.ts'
import { type CompressionSettings, type StreamCompressor, streamCompressor } from '../../server/stream-compressor.ts'
import { type Coding, preferredCoding } from './compression.ts'

/** The most that a compressor of any coding takes: 2 MiB for its window, tables and buffers, and as much for the piece read ahead. */
const COMPRESSOR_BYTES = 4_194_304

/** Limit on the compressors of all streamed responses. When it is reached, further responses are not compressed. */
const COMPRESSORS_MAX_BYTES = 67_108_864

export const streamCompressors = new ByteBudget(COMPRESSORS_MAX_BYTES)

/** None of them takes more time than reading a list. */
const SETTINGS: CompressionSettings = {
  // 256 KiB. Of a list of reviews, zstd then leaves 12.5 %; a window of 2 MiB takes 1.6 MiB more memory for each client, and
  // leaves 10.1 %.
  windowBits: 18,
  zstdLevel: 3,
  isZstdLongDistance: false,
  // 4 takes 40 % more time, and leaves 4 % less.
  brotliQuality: 3,
  // 6, the default, takes 60 % more time, and leaves 5 to 8 % less.
  gzipLevel: 4,
}

/** The coding for a streamed response to a request with this `Accept-Encoding`. */
export function streamedCoding(accepted: string | null): Coding | 'identity' {
  return streamCompressors.isSpent ? 'identity' : preferredCoding(accepted)
}

export function openCompressor(coding: Coding | 'identity'): StreamCompressor {
  if (coding === 'identity') return streamCompressor(coding, SETTINGS)
  streamCompressors.hold(COMPRESSOR_BYTES)
  return streamCompressor(coding, SETTINGS, () => streamCompressors.release(COMPRESSOR_BYTES))
}
