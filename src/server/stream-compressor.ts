export type StreamCoding = 'zstd' | 'br' | 'gzip' | 'identity'

/** How much time and memory each coding may take. */
export interface CompressionSettings {
  /** The compression window of zstd and brotli, as a power of two. That of gzip is 32 KiB. */
  readonly windowBits: number
  readonly zstdLevel: number
  /** Whether zstd also looks for matches far back in the window. */
  readonly isZstdLongDistance: boolean
  readonly brotliQuality: number
  readonly gzipLevel: number
}

/** Turns the pieces of one text into bytes. Disposing frees its memory at any point of the text. */
export interface StreamCompressor extends Disposable {
  /** Compresses one piece on another thread, as far as the reader needs to decode all of it. */
  piece(text: string): Promise<Uint8Array>
  /** The last bytes, if any. */
  end(): Promise<Uint8Array>
}

/** `closed` is called when the memory of a compressor is free; never for `identity`, which takes none. */
export function streamCompressor(
  coding: StreamCoding,
  settings: CompressionSettings,
  closed: () => void = () => {},
): StreamCompressor {
  if (coding === 'identity') {
    const encoder = new TextEncoder()
    return { piece: async text => encoder.encode(text), end: async () => new Uint8Array(), [Symbol.dispose]: () => {} }
  }
  const stream = flushed(coding, settings)
  stream.once('close', closed)
  let chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const taken = () => {
    const bytes = Buffer.concat(chunks)
    chunks = []
    return bytes
  }
  const settled = (start: (done: () => void) => void) =>
    new Promise<Uint8Array>((resolve, reject) => {
      stream.once('error', reject)
      start(() => {
        stream.off('error', reject)
        resolve(taken())
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
function flushed(coding: Exclude<StreamCoding, 'identity'>, settings: CompressionSettings) {
  // Loaded here, because it takes 10 ms, and a server may be asked for no stream.
  const { constants, createBrotliCompress, createGzip, createZstdCompress } = process.getBuiltinModule('node:zlib')
  const { windowBits, zstdLevel, isZstdLongDistance, brotliQuality, gzipLevel } = settings
  switch (coding) {
    case 'zstd':
      return createZstdCompress({
        flush: constants.ZSTD_e_flush,
        params: {
          [constants.ZSTD_c_compressionLevel]: zstdLevel,
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
