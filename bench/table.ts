export interface Table {
  /** None if empty. */
  readonly title: string
  readonly columns: readonly string[]
  /** The first column is text, aligned left; the others are figures, aligned right. */
  readonly rows: readonly (readonly string[])[]
  /** A line below the table. */
  readonly note: string
}

export type TableStyle = 'plain' | 'markdown'

export function renderTable({ title, columns, rows, note }: Table, style: TableStyle): string {
  const widths = columns.map((column, index) => Math.max(...[column, ...rows.map(row => row[index] ?? '')].map(width)))
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, index) => pad(cell, widths[index] ?? 0, index === 0))
    return style === 'markdown' ? `| ${padded.join(' | ')} |` : padded.join('  ').trimEnd()
  }
  const rule = widths.map((length, index) => {
    if (style === 'plain') return '-'.repeat(length)
    return index === 0 ? '-'.repeat(length) : `${'-'.repeat(length - 1)}:`
  })
  const heading = style === 'markdown' ? `### ${title}\n` : title
  return [
    ...(title === '' ? [] : [heading]),
    line(columns),
    line(rule),
    ...rows.map(line),
    ...(style === 'markdown' ? [''] : []),
    note,
  ].join('\n')
}

function pad(text: string, length: number, left: boolean): string {
  const blanks = ' '.repeat(Math.max(0, length - width(text)))
  return left ? text + blanks : blanks + text
}

function width(text: string): number {
  return [...text].length
}
