import { stringWidth } from 'bun'
import { style } from './style.ts'
import { wrapped } from './wrapping.ts'

/** The width down to which columns shrink: one wide character. */
const COLUMN_MIN = 2

/** Width between two columns. */
const GAP = 3

export type Alignment = 'left' | 'center' | 'right'

export interface Cell {
  readonly text: string
  readonly alignment: Alignment
}

/** The lines of a table; the first row is its head. If the table is too wide, columns shrink and their cells are wrapped. */
export function tableLines(rows: readonly (readonly Cell[])[], width: number): string[] {
  const columns = Math.max(0, ...rows.map(row => row.length))
  const natural = Array.from({ length: columns }, (_, column) =>
    Math.max(1, ...rows.map(row => stringWidth(row[column]?.text ?? ''))),
  )
  const widths = fitted(natural, width - GAP * (columns - 1))
  const [head = [], ...body] = rows
  const rule = style.faint(widths.map(columnWidth => '─'.repeat(columnWidth)).join('─┼─'))
  return [...rowLines(head, widths, style.strong), rule, ...body.flatMap(row => rowLines(row, widths, text => text))]
}

/** Shrinks the widest column step by step until the table fits or no column is wider than the minimum. */
function fitted(natural: readonly number[], available: number): number[] {
  const widths = [...natural]
  for (let excess = sum(widths) - available; excess > 0; excess -= 1) {
    const widest = widths.indexOf(Math.max(...widths))
    const width = widths[widest] ?? COLUMN_MIN
    if (width <= COLUMN_MIN) break
    widths[widest] = width - 1
  }
  return widths
}

function rowLines(row: readonly Cell[], widths: readonly number[], emphasize: (text: string) => string): string[] {
  const cells = widths.map((width, column) => {
    const { text, alignment } = row[column] ?? { text: '', alignment: 'left' }
    return wrapped(text, width).map(line => aligned(emphasize(line), width, alignment))
  })
  const height = Math.max(1, ...cells.map(lines => lines.length))
  return Array.from({ length: height }, (_, line) =>
    cells
      .map((lines, column) => lines[line] ?? ' '.repeat(widths[column] ?? 0))
      .join(style.faint(' │ '))
      .trimEnd(),
  )
}

function aligned(text: string, width: number, alignment: Alignment): string {
  const room = Math.max(0, width - stringWidth(text))
  const before = { left: 0, center: Math.floor(room / 2), right: room }[alignment]
  return ' '.repeat(before) + text + ' '.repeat(room - before)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
