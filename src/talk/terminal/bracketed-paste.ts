// Bracketed paste: the terminal marks pasted text, so that a line break in it is not taken for Enter.
// https://invisible-island.net/xterm/ctlseqs/ctlseqs.html#h2-Bracketed-Paste-Mode
export const PASTE_ON = '\x1b[?2004h'
export const PASTE_OFF = '\x1b[?2004l'
const PASTE_BEGIN = '\x1b[200~'
const PASTE_END = '\x1b[201~'

const ESCAPE = '\x1b'

/** ESC, or Alt-[, belongs to what comes after it within this time, as in Node's editor. Otherwise it means nothing. */
const ESCAPE_MAX_MS = 500
const ESCAPE_KEYS: ReadonlySet<string> = new Set([ESCAPE, `${ESCAPE}[`])

/** A part of the input: keys, or pasted text. */
export interface Typed {
  readonly text: string
  readonly isPasted: boolean
}

/** Separates pasted text from keys, however the terminal's bytes were cut into pieces. */
export class BracketedPaste {
  #held = ''
  #heldAt = 0
  #isPasting = false

  /** The parts of the input, none of them empty. An incomplete marker, or ESC, is held back until more arrives. */
  split(chunk: string): Typed[] {
    const parts: Typed[] = []
    const now = performance.now()
    const isTooLate = ESCAPE_KEYS.has(this.#held) && !this.#isPasting && now - this.#heldAt >= ESCAPE_MAX_MS
    let rest = (isTooLate ? '' : this.#held) + chunk
    for (;;) {
      const mark = this.#isPasting ? PASTE_END : PASTE_BEGIN
      const at = rest.indexOf(mark)
      const end = at < 0 ? rest.length - cutMark(rest, mark) : at
      let text = rest.slice(0, end)
      // An ESC right before pasted text means nothing, either.
      if (at >= 0 && !this.#isPasting && text.endsWith(ESCAPE)) text = text.slice(0, -1)
      if (text !== '') parts.push({ text, isPasted: this.#isPasting })
      if (at < 0) {
        this.#held = rest.slice(end)
        this.#heldAt = now
        return parts
      }
      rest = rest.slice(at + mark.length)
      this.#isPasting = !this.#isPasting
    }
  }
}

/** The length of an incomplete marker, or pasted CRLF, at the end of the text. */
function cutMark(text: string, mark: string): number {
  if (mark === PASTE_END && text.endsWith('\r')) return 1
  for (let length = mark.length - 1; length > 0; length -= 1) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}
