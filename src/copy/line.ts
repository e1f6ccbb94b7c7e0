/**
 * Rows are copied and compared in the text format of PostgreSQL's COPY, one line per row.
 * https://www.postgresql.org/docs/current/sql-copy.html
 */

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

/** The values of a row, as text. */
export type Fields = readonly (string | null)[]

/** A row as a line, with its line feed. */
export function lineOf(fields: Fields): string {
  return `${fields.map(field => (field === null ? NULL : escaped(field))).join('\t')}\n`
}

/** The fields of a line without its line feed. */
export function fieldsOf(line: string): Fields {
  return line.split('\t').map(field => (field === NULL ? null : unescaped(field)))
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

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r\b\f\v]/g, character => ESCAPED[character] ?? character) : text
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\./g, pair => UNESCAPED[pair] ?? pair) : text
}
