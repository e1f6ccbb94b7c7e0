import { unescape as percentDecoded } from 'node:querystring'

/** Enough characters to find the lines of one turn. */
const SHOWN_CHARACTERS = 8

/** Separators of segments, also encoded ones, because a proxy in front may decode them. */
const SEPARATOR = /(\/|\\|%2f|%5c)/i

const BEFORE_ID: ReadonlySet<string> = new Set(['chat', 'chatstream'])

/** A path for the log, with a shortened id: anyone who has a turn's whole id can read and stop the turn. */
export function loggedPath(path: string): string {
  const pieces = path.split(SEPARATOR)
  return pieces
    .map((piece, index) =>
      piece !== '' && BEFORE_ID.has(percentDecoded(pieces[index - 2] ?? '')) ? loggedId(piece) : piece,
    )
    .join('')
}

/** An id for the log. A short one, which a client has chosen, is cut in half. */
export function loggedId(id: string): string {
  return `${id.slice(0, Math.min(SHOWN_CHARACTERS, id.length / 2))}…`
}
