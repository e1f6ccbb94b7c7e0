import MarkdownIt, { type MarkdownIt as Markdown, type StateBlock } from 'markdown-it'

/**
 * Cells of one table. A row that lacks cells is filled up, so without this bound a few characters could make tens of
 * thousands of them. A row that has its cells takes two characters for each, so no section can reach the bound otherwise.
 */
const TABLE_CELLS_MAX = 4_096

const HEADER_LINES = 2

/** Ends a table after so many rows that it has at most `TABLE_CELLS_MAX` cells. */
export function boundTables(markdown: Markdown): void {
  const original = new MarkdownIt().block.ruler
  original.enableOnly(['table'])
  const [table] = original.getRules('')
  if (!table) throw new Error('markdown-it has no rule for tables')
  const bounded = (state: StateBlock, line: number, end: number, silent: boolean) =>
    table(state, line, Math.min(end, line + HEADER_LINES + rowsMax(state, line)), silent)
  markdown.block.ruler.at('table', bounded, { alt: ['paragraph', 'reference'] })
}

/** The table's second line tells how many columns it has, if it is a table at all. */
function rowsMax(state: StateBlock, line: number): number {
  const delimiters = state.src.slice(state.bMarks[line + 1], state.eMarks[line + 1])
  return Math.floor(TABLE_CELLS_MAX / delimiters.split('|').length)
}
