/** The text format of COPY, one line per row. https://www.postgresql.org/docs/current/sql-copy.html */

const NULL = '\\N'
const SPECIAL = /[\\\t\n\r\b\f\v]/
const ESCAPED: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
}
const UNESCAPED: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(ESCAPED).map(([character, escaped]) => [escaped, character]),
)

/** A value as a field. */
export function fieldOf(text: string | null): string {
  if (text === null) return NULL
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r\b\f\v]/g, character => ESCAPED[character] ?? character) : text
}

/** The values of a line without its line feed. */
export function valuesOfLine(line: string): (string | null)[] {
  return line.split('\t').map(field => {
    if (field === NULL) return null
    return field.includes('\\') ? field.replace(/\\./g, pair => UNESCAPED[pair] ?? pair) : field
  })
}

/** Splits UTF-8 chunks, which may end anywhere, into lines without their line feeds. */
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
