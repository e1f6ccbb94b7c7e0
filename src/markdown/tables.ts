import MarkdownIt, { type MarkdownIt as Markdown, type StateBlock } from 'markdown-it'

/**
 * Limit on the cells of a table. Short rows are filled up with empty cells, so a few characters could otherwise produce
 * tens of thousands of cells. Without such rows no section is long enough to reach the limit.
 */
const TABLE_CELLS_MAX = 4_096

const HEADER_LINES = 2

/** Ends a table before it has more than `TABLE_CELLS_MAX` cells. */
export function boundTables(markdown: Markdown): void {
  const original = new MarkdownIt().block.ruler
  original.enableOnly(['table'])
  const [table] = original.getRules('')
  if (!table) throw new Error('markdown-it has no rule for tables')
  const bounded = (state: StateBlock, line: number, end: number, silent: boolean) =>
    table(state, line, Math.min(end, line + HEADER_LINES + rowsMax(state, line)), silent)
  markdown.block.ruler.at('table', bounded, { alt: ['paragraph', 'reference'] })
}

/** If this is a table, its second line has the number of columns. */
function rowsMax(state: StateBlock, line: number): number {
  const delimiters = state.src.slice(state.bMarks[line + 1], state.eMarks[line + 1])
  return Math.floor(TABLE_CELLS_MAX / delimiters.split('|').length)
}
