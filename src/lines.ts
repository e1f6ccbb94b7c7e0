/** Splits UTF-8 chunks, which may end anywhere, into lines without their line feeds. Text after the last one is left out. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  // Joined only when the line is complete, because a long one arrives in many chunks.
  let pieces: string[] = []
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    pieces.push(first)
    const last = others.pop()
    if (last === undefined) continue
    yield [pieces.join(''), ...others]
    pieces = [last]
  }
}
