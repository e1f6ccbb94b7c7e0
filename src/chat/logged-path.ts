import { unescape as percentDecoded } from 'node:querystring'

/** Enough characters to find the lines of one turn. */
const SHOWN_CHARACTERS = 8

/** Separators of segments, also encoded ones, because a proxy in front may decode them. An id may have those, too. */
const SEPARATOR = /(\/|\\|%2f|%5c)/i

const BEFORE_ID: ReadonlySet<string> = new Set(['chat', 'chatstream'])

/** The last segments of a turn's paths. */
const AFTER_ID: ReadonlySet<string> = new Set(['answer', 'status', 'stop'])

/** A path for the log, with a shortened id: anyone who has a turn's whole id can read and stop the turn. */
export function loggedPath(path: string): string {
  const pieces = path.split(SEPARATOR)
  let place: 'id' | 'later in the id' | 'elsewhere' = 'elsewhere'
  return pieces
    .map((piece, index) => {
      if (index % 2 === 1) return piece
      const before = percentDecoded(pieces[index - 2] ?? '')
      if (BEFORE_ID.has(before)) place = 'id'
      else if (before !== '' && place !== 'elsewhere')
        place = pieces[index - 1] === '/' ? 'elsewhere' : 'later in the id'
      const isShown = place === 'elsewhere' || (place === 'later in the id' && AFTER_ID.has(piece))
      return isShown || piece === '' ? piece : loggedId(piece)
    })
    .join('')
}

/** An id for the log. A short one, which a client has chosen, is cut in half. */
export function loggedId(id: string): string {
  return `${id.slice(0, Math.min(SHOWN_CHARACTERS, id.length / 2))}…`
}
