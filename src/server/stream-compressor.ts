import type { BrotliCompress, Gzip, ZstdCompress } from 'node:zlib'

/** Compresses one stream, on another thread. Disposing frees its memory at any point of the stream. */
export interface StreamCompressor extends Disposable {
  /** Compresses one piece, as far as the reader needs to decode all of it. */
  piece(text: string): Promise<Uint8Array>
  /** The last bytes of the compressed stream. */
  end(): Promise<Uint8Array>
}

/** Compresses with a stream of `node:zlib` whose option `flush` makes it flush after each write. */
export function streamCompressor(stream: BrotliCompress | Gzip | ZstdCompress): StreamCompressor {
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
