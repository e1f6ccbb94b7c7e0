const LINE_BREAKS = /\r\n?/g
const NUL = /\0/g

/** Normalizes text as CommonMark does, piece by piece: `\n` is the only line break, and there is no NUL. */
export class SourceText {
  #endsInReturn = false

  /** The next piece, normalized. If a CRLF was split, its CR has become the line break and its LF is dropped. */
  next(piece: string): string {
    const text = this.#endsInReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') this.#endsInReturn = piece.endsWith('\r')
    return text.replace(LINE_BREAKS, '\n').replace(NUL, '\ufffd')
  }
}
