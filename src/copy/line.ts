/**
 * How rows travel, and what is compared: one line for each, as PostgreSQL's COPY has them in its text format.
 * https://www.postgresql.org/docs/current/sql-copy.html
 */

const ABSENT = '\\N'
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

/** With the line feed at its end. */
export function lineOf(fields: Fields): string {
  return `${fields.map(field => (field === null ? ABSENT : escaped(field))).join('\t')}\n`
}

/** Of a line without its line feed. */
export function fieldsOf(line: string): Fields {
  return line.split('\t').map(field => (field === ABSENT ? null : unescaped(field)))
}

/** The lines of a text in UTF-8 whose chunks end anywhere, without their line feeds. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  // Joined when the line is whole, since a long one comes in many chunks.
  let begun: string[] = []
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    begun.push(first)
    const last = others.pop()
    if (last === undefined) continue
    yield [begun.join(''), ...others]
    begun = [last]
  }
}

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r\b\f\v]/g, character => ESCAPED[character] ?? character) : text
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\./g, pair => UNESCAPED[pair] ?? pair) : text
}
