import type { Row } from '../table.ts'

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

/** A row as a line, with its line feed. */
export function lineOf(row: Row): string {
  // Loops, because these functions take much of the time of a copy.
  let line = ''
  for (let place = 0; place < row.length; place += 1) {
    const value = row[place] ?? null
    if (place > 0) line += '\t'
    if (typeof value === 'number') line += value
    else line += value === null ? NULL : escaped(value)
  }
  return `${line}\n`
}

/** The row of a line without its line feed; `convert` has a function for each column, or `null` for a text. */
export function rowOf(line: string, convert: readonly (((text: string) => number) | null)[]): Row {
  const row: Row[number][] = []
  const fields = line.split('\t')
  for (let place = 0; place < fields.length; place += 1) {
    const field = fields[place] ?? NULL
    row.push(field === NULL ? null : (convert[place]?.(field) ?? unescaped(field)))
  }
  return row
}

function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r\b\f\v]/g, character => ESCAPED[character] ?? character) : text
}

function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\./g, pair => UNESCAPED[pair] ?? pair) : text
}
