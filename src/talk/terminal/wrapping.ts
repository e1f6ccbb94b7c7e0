import { stringWidth, wrapAnsi } from 'bun'

/** A letter and the combining marks that the next row begins with, each perhaps with changes of style after or before it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them
const MARKS_APART = /(.)((?:\x1b\[[\d;]*m)*)\n((?:\x1b\[[\d;]*m)*)(\p{M}+)/gu

/** Wraps text at words, and a word that is too wide at the last character that fits. */
export function wrapped(text: string, width: number): string[] {
  return marksJoined(wrapAnsi(text, width, { hard: true })).split('\n')
}

/** Moves marks back to their letter: the library takes them apart if the letter fills its row. */
function marksJoined(text: string): string {
  return text.replace(MARKS_APART, (apart, letter, after, before, marks) =>
    // Some marks need room, and it is not there.
    stringWidth(letter + marks) > stringWidth(letter) ? apart : `${letter}${marks}${after}\n${before}`,
  )
}
