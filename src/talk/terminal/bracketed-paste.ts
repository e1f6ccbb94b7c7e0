// Bracketed paste: the terminal marks what is pasted, so that a line break in it is not Enter.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode
export const PASTE_ON = '\x1b[?2004h'
export const PASTE_OFF = '\x1b[?2004l'
const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'

/** So much of the mark of a beginning is not a key's beginning. */
const BEGIN_CERTAIN_CHARACTERS = 3

/** What came from the keyboard in one: keys, or pasted text. */
export interface Typed {
  readonly text: string
  readonly isPasted: boolean
}

/** Tells what is pasted from what is typed, however the terminal's bytes were cut into pieces. */
export class BracketedPaste {
  #held = ''
  #isPasting = false

  /** The parts of what came, none of them empty. The beginning of a mark is held back until the rest comes. */
  split(chunk: string): Typed[] {
    const parts: Typed[] = []
    let rest = this.#held + chunk
    for (;;) {
      const mark = this.#isPasting ? PASTE_END : PASTE_BEGIN
      const at = rest.indexOf(mark)
      const end = at < 0 ? rest.length - this.#cutMark(rest, mark) : at
      if (end > 0) parts.push({ text: rest.slice(0, end), isPasted: this.#isPasting })
      if (at < 0) {
        this.#held = rest.slice(end)
        return parts
      }
      rest = rest.slice(at + mark.length)
      this.#isPasting = !this.#isPasting
    }
  }

  /** How much of a mark has come at the end of this text. */
  #cutMark(text: string, mark: string): number {
    const least = this.#isPasting ? 1 : BEGIN_CERTAIN_CHARACTERS
    for (let length = mark.length - 1; length >= least; length -= 1) {
      if (text.endsWith(mark.slice(0, length))) return length
    }
    return 0
  }
}
