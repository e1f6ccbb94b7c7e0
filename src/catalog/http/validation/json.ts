import { countCodePoints } from '../../../limits/code-points.ts'

/** A body parsed as JSON, or the offset of the syntax error in it. */
export type Json = { readonly value: unknown } | { readonly errorOffset: number }

const strict = new TextDecoder('utf-8', { fatal: true })
const lenient = new TextDecoder()

/** Parses JSON (RFC 8259) in UTF-8. */
export function readJson(bytes: Uint8Array): Json {
  let text: string
  try {
    text = strict.decode(bytes)
  } catch {
    const replaced = lenient.decode(bytes)
    return { errorOffset: countCodePoints(replaced.slice(0, replaced.indexOf('\ufffd'))) }
  }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { errorOffset: countCodePoints(text.slice(0, syntaxError(text))) }
  }
}

const SPACE = /[ \t\n\r]*/y
const SCALAR = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y

/** A string up to its end or its first wrong character. An escape `\u` with which the text ends is wrong, too. */
const STRING = /"(?:[ !#-[\]-\uffff]+|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}(?!$)))*/y

/**
 * Finds the syntax error in text that `JSON.parse` has rejected, because the engine's message does not contain the offset.
 * Python's decoder, whose offsets clients of FastAPI know, reports the same ones.
 */
function syntaxError(text: string): number {
  const open: ('{' | '[')[] = []
  let index = 0
  let expected: 'value' | 'value or ]' | 'key' | 'key or }' | ':' | 'more' = 'value'
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = index
    if (!pattern.test(text)) return false
    index = pattern.lastIndex
    return true
  }
  for (;;) {
    take(SPACE)
    const start = index
    const character = text[start]
    const isEnd = expected === 'key or }' ? character === '}' : expected === 'value or ]' && character === ']'
    const isKey: boolean = expected === 'key' || expected === 'key or }'
    if (isEnd) {
      open.pop()
      index += 1
      expected = 'more'
    } else if (expected === ':') {
      if (character !== ':') return start
      index += 1
      expected = 'value'
    } else if (expected === 'more') {
      const inside = open.at(-1)
      if (inside && character === ',') expected = inside === '{' ? 'key' : 'value'
      else if (inside && character === (inside === '{' ? '}' : ']')) open.pop()
      else return start
      index += 1
    } else if (take(STRING)) {
      if (text[index] !== '"') return errorInString(text, start, index)
      index += 1
      expected = isKey ? ':' : 'more'
    } else if (!isKey && (character === '{' || character === '[')) {
      open.push(character)
      index += 1
      expected = character === '{' ? 'key or }' : 'value or ]'
    } else {
      if (isKey || !take(SCALAR)) return start
      expected = 'more'
    }
  }
}

/** A string without an end is wrong at its beginning, any other at its first wrong character. */
function errorInString(text: string, start: number, wrong: number): number {
  // Python's decoder takes a backslash at the very end for an open string, and blames the `u` of a wrong `\u`.
  if (wrong === text.length || text.slice(wrong) === '\\') return start
  return text.startsWith('\\u', wrong) ? wrong + 1 : wrong
}
