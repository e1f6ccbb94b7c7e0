/** The opening line of a fenced code block (CommonMark 4.5). */
export interface Fence {
  /** The width of the spaces and list markers before the marks. */
  readonly indentation: number
  /** The marks: at least three backticks or tildes. */
  readonly marks: string
  /** The first word after the marks; empty if there is none. */
  readonly label: string
}

const OPENING = /^( *(?:(?:[-*+]|\d{1,9}[.)]) +)*)(`{3,}(?=[^`]*$)|~{3,})\s*(\S*)/

/** Marks that are indented further than this are part of the code, such as those of code in a list that is shown as code. */
const CLOSING_INDENTATION_MAX = 3

/** In markdown, a tab moves to the next multiple of this width. */
const TAB_STOP = ' '.repeat(4)

export function openingFence(line: string): Fence | null {
  const [, before = '', marks, label = ''] = OPENING.exec(line) ?? []
  return marks === undefined ? null : { indentation: before.length, marks, label }
}

/** The fence that is open after a line, if this one was open before it. */
export function fenceAfter(line: string, open: Fence | null): Fence | null {
  if (!open) return openingFence(line)
  return closesFence(line, open) ? null : open
}

export function closesFence(line: string, { indentation, marks }: Fence): boolean {
  const text = line.trim()
  return (
    line.replaceAll(/ {4}| {0,3}\t/g, TAB_STOP).search(/[^ ]|$/) <= indentation + CLOSING_INDENTATION_MAX &&
    text.length >= marks.length &&
    text === (marks[0] ?? '').repeat(text.length)
  )
}
