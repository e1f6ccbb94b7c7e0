const LINE_BREAKS = /\r\n?/g
const NUL = /\0/g

/** Text as CommonMark reads it, with `\n` as the only line break and no NUL; whole, or piece by piece. */
export class SourceText {
  #endsInReturn = false

  /** The next piece, in that form. The line feed of a CRLF that was cut in two is left out: its return was the break. */
  next(piece: string): string {
    const text = this.#endsInReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') this.#endsInReturn = piece.endsWith('\r')
    return text.replace(LINE_BREAKS, '\n').replace(NUL, '\ufffd')
  }
}
