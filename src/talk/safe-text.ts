// Escape sequences as parts of patterns, in their forms of seven and of eight bits (ECMA-48, 5.3 to 5.6): of each kind what
// it begins with, which text may be cut behind, and what ends it.
const CONTROL_SEQUENCE = String.raw`(?:\x1b\[|\x9b)[\x30-\x3f]{0,64}[\x20-\x2f]{0,8}`
const CONTROL_SEQUENCE_END = String.raw`[\x40-\x7e]`
/** A longer one than this is none: its beginning alone goes. */
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

/** What may still become one of these, a line break of two characters, or a character of two halves. */
const BEGINNING = new RegExp(
  `(?:${[FIRST_HALF_OF_BREAK, CONTROL_SEQUENCE, String.raw`${CONTROL_STRING}\x1b?`, SHORT_SEQUENCE, FIRST_HALF_OF_CHARACTER].join('|')})$`,
)

/** All control characters but the tab and the line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Characters that are not seen and change what is: those that set the direction of text, which can show a line in another
 * order than it is written in (UAX #9, 2), the deprecated ones behind them, and tags, which spell text that nobody sees.
 * Arabic and Hebrew need none of them: their letters have a direction of their own.
 */
const UNSEEN = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f]|\udb40[\udc00-\udc7f]/g

/**
 * Text from outside, as it comes, without what could drive a terminal or reorder its lines: escape sequences, control
 * characters, and those of direction. Tabs stay, and each line break is a line feed. Where the text was cut into pieces
 * makes no difference.
 */
export class SafeText {
  #held = ''

  /** The next of the text, as far as it is sure. */
  append(piece: string): string {
    const text = this.#held + piece
    const sure = text.search(BEGINNING)
    this.#held = sure < 0 ? '' : text.slice(sure)
    return safeText(sure < 0 ? text : text.slice(0, sure))
  }

  /** What was held back, when nothing more comes. */
  end(): string {
    const held = this.#held
    this.#held = ''
    return safeText(held)
  }
}

/** The same for a text that is whole. */
export function safeText(text: string): string {
  return text.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(CONTROLS, '').replace(UNSEEN, '')
}

/** For what must stay in one line. */
export function safeLine(text: string): string {
  return safeText(text).replace(/[\n\t]+/g, ' ')
}
