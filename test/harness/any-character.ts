import fc from 'fast-check'

const SURROGATES_FROM = 0xd800
const SURROGATES = 0x800
const LAST = 0x10ffff

/**
 * Any code point but surrogates, as a unit of `fc.string`. It is what fast-check calls `binary`, without the table of all
 * characters that fast-check would build for it in each process, in most of a second.
 */
export const anyCharacter = fc.nat({ max: LAST - SURROGATES }).map(
  place => String.fromCodePoint(place < SURROGATES_FROM ? place : place + SURROGATES),
  character => {
    const codePoint = typeof character === 'string' ? character.codePointAt(0) : undefined
    if (codePoint === undefined || String.fromCodePoint(codePoint) !== character) throw new Error('not one character')
    return codePoint < SURROGATES_FROM ? codePoint : codePoint - SURROGATES
  },
)
