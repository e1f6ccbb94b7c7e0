// Parts of patterns for escape sequences, in their 7-bit and 8-bit forms (ECMA-48, 5.3 to 5.6). Each kind has a beginning,
// after which a piece of text may end, and an end.
const CONTROL_SEQUENCE = String.raw`(?:\x1b\[|\x9b)[\x30-\x3f]{0,64}[\x20-\x2f]{0,8}`
const CONTROL_SEQUENCE_END = String.raw`[\x40-\x7e]`
/** If it is longer than this, only its introducer is removed. */
const CONTROL_STRING = String.raw`(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,1024}`
const CONTROL_STRING_END = String.raw`(?:\x07|\x1b\\|\x9c)`
const SHORT_SEQUENCE = String.raw`\x1b[\x20-\x2f]{0,8}`
const SHORT_SEQUENCE_END = String.raw`[\x30-\x7e]`

const SEQUENCES = new RegExp(
  [
    CONTROL_SEQUENCE + CONTROL_SEQUENCE_END,
    CONTROL_STRING + CONTROL_STRING_END,
    SHORT_SEQUENCE + SHORT_SEQUENCE_END,
  ].join('|'),
  'g',
)

const FIRST_HALF_OF_BREAK = String.raw`\r`
const FIRST_HALF_OF_CHARACTER = String.raw`[\ud800-\udbff]`

/** An incomplete escape sequence, CRLF or surrogate pair at the end of a piece. */
const INCOMPLETE = new RegExp(
  `(?:${[FIRST_HALF_OF_BREAK, CONTROL_SEQUENCE, String.raw`${CONTROL_STRING}\x1b?`, SHORT_SEQUENCE, FIRST_HALF_OF_CHARACTER].join('|')})$`,
)

/** All control characters except tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/

/**
 * Invisible characters that can deceive a reader: those that set the direction of text, which can show a line in another
 * order than it is written in (UAX #9, 2), the deprecated ones after them, and tags, which can spell invisible text. Arabic
 * and Hebrew do not need them, because their letters have a direction of their own.
 */
const INVISIBLE = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f]|\udb40[\udc00-\udc7f]/

const UNSAFE = new RegExp(`${CONTROLS.source}|${INVISIBLE.source}`, 'g')

/**
 * Makes untrusted text safe for a terminal, piece by piece: removes escape sequences, control characters, and characters
 * that set the direction of text. Tabs stay, and every line break becomes a line feed. It makes no difference where the
 * text was cut into pieces.
 */
export async function* safePieces(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  // An incomplete sequence at the end of a piece is held back.
  let held = ''
  for await (const piece of pieces) {
    const text = held + piece
    const incomplete = text.search(INCOMPLETE)
    held = incomplete < 0 ? '' : text.slice(incomplete)
    const safe = safeText(incomplete < 0 ? text : text.slice(0, incomplete))
    if (safe !== '') yield safe
  }
  const rest = safeText(held)
  if (rest !== '') yield rest
}

/** Makes a complete text safe for a terminal. */
export function safeText(text: string): string {
  // Otherwise two half characters would make a tag once what stands between them is removed.
  const wellFormed = text.toWellFormed()
  return wellFormed.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(UNSAFE, '')
}

/** The same in one line. */
export function safeLine(text: string): string {
  return safeText(text).replace(/[\n\t]+/g, ' ')
}

/** A value as one line of JSON, which has escapes for what `safeText` removes, so that its reader gets the same text. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, characters => characters.split('').map(escaped).join(''))
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
