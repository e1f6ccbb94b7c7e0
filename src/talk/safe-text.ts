/**
 * Escape sequences, whole: control sequences, control strings with their ends, and shorter ones (ECMA-48, 5.3 to 5.6),
 * in their forms of seven and of eight bits. A longer control string than these is none: its beginning alone goes.
 */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /(?:\x1b\[|\x9b)[\x30-\x3f]{0,64}[\x20-\x2f]{0,8}[\x40-\x7e]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,1024}(?:\x07|\x1b\\|\x9c)|\x1b[\x20-\x2f]{0,8}[\x30-\x7e]/g

/** What may still become one of these, a line break of two characters, or a character of two halves. */
const BEGINNING =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /(?:\r|(?:\x1b\[|\x9b)[\x30-\x3f]{0,64}[\x20-\x2f]{0,8}|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]{0,1024}\x1b?|\x1b[\x20-\x2f]{0,8}|[\ud800-\udbff])$/

/** All control characters but the tab and the line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Text from outside, as it comes, without what could drive a terminal: escape sequences and control characters. Tabs
 * stay, and each line break is a line feed. Where the text was cut into pieces makes no difference.
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
  return text.replace(SEQUENCES, '').replace(/\r\n?/g, '\n').replace(CONTROLS, '')
}

/** For what must stay in one line. */
export function safeLine(text: string): string {
  return safeText(text).replace(/[\n\t]+/g, ' ')
}
