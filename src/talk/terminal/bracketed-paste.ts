// Bracketed paste: the terminal marks pasted text, so that a line break in it is not taken for Enter.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode
export const PASTE_ON = '\x1b[?2004h'
export const PASTE_OFF = '\x1b[?2004l'
const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'

/** Shortest prefix of the paste marker that no key sends. */
const BEGIN_CERTAIN_CHARACTERS = 3

/** A part of the input: keys, or pasted text. */
export interface Typed {
  readonly text: string
  readonly isPasted: boolean
}

/** Separates pasted text from keys, however the terminal's bytes were cut into pieces. */
export class BracketedPaste {
  #held = ''
  #isPasting = false

  /** The parts of the input, none of them empty. An incomplete marker is held back until the rest of it arrives. */
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

  /** The length of an incomplete marker at the end of the text. */
  #cutMark(text: string, mark: string): number {
    const least = this.#isPasting ? 1 : BEGIN_CERTAIN_CHARACTERS
    for (let length = mark.length - 1; length >= least; length -= 1) {
      if (text.endsWith(mark.slice(0, length))) return length
    }
    return 0
  }
}
