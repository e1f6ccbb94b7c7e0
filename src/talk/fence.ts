/** A fenced block of code (CommonMark 4.5), as its first line opens it. */
export interface Fence {
  /** Blanks before the marks. */
  readonly indentation: number
  /** The marks: at least three backticks or tildes. */
  readonly marks: string
  /** The first word behind the marks; empty when there is none. */
  readonly label: string
}

const OPENING = /^( *)(`{3,}(?=[^`]*$)|~{3,})\s*(\S*)/

export function openingFence(line: string): Fence | null {
  const [, blanks = '', marks, label = ''] = OPENING.exec(line) ?? []
  return marks === undefined ? null : { indentation: blanks.length, marks, label }
}

export function closesFence(line: string, { marks }: Fence): boolean {
  const text = line.trim()
  return text.length >= marks.length && text === (marks[0] ?? '').repeat(text.length)
}
