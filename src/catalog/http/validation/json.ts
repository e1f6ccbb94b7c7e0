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

/**
 * Finds the syntax error in text that `JSON.parse` has rejected, because the engine's message does not contain the offset.
 * Python's decoder, whose offsets clients of FastAPI know, reports the same ones.
 */
function syntaxError(text: string): number {
  const open: ('{' | '[')[] = []
  let index = 0
  let expected: 'value' | 'value or ]' | 'key' | 'key or }' | 'more' = 'value'
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = index
    if (!pattern.test(text)) return false
    index = pattern.lastIndex
    return true
  }
  for (;;) {
    take(SPACE)
    const character = text[index]
    const isEnd = expected === 'key or }' ? character === '}' : expected === 'value or ]' && character === ']'
    if (isEnd) {
      open.pop()
      index += 1
      expected = 'more'
    } else if (expected === 'more') {
      const inside = open.at(-1)
      if (inside && character === ',') expected = inside === '{' ? 'key' : 'value'
      else if (inside && character === (inside === '{' ? '}' : ']')) open.pop()
      else return index
      index += 1
    } else if (expected === 'key' || expected === 'key or }') {
      if (character !== '"') return index
      const end = stringEnd(text, index)
      if ('errorAt' in end) return end.errorAt
      index = end.after
      take(SPACE)
      if (text[index] !== ':') return index
      index += 1
      expected = 'value'
    } else if (character === '{' || character === '[') {
      open.push(character)
      index += 1
      expected = character === '{' ? 'key or }' : 'value or ]'
    } else if (character === '"') {
      const end = stringEnd(text, index)
      if ('errorAt' in end) return end.errorAt
      index = end.after
      expected = 'more'
    } else {
      if (!take(SCALAR)) return index
      expected = 'more'
    }
  }
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y

/** Finds the end of the string at `start`. If it has none, the error is at its beginning, else at the wrong character. */
function stringEnd(text: string, start: number): { after: number } | { errorAt: number } {
  let index = start + 1
  while (index < text.length) {
    const character = text[index]
    if (character === '"') return { after: index + 1 }
    if (character === '\\') {
      // Python's decoder takes a backslash at the very end for an open string, and blames the `u` of a wrong `\u`.
      if (index === text.length - 1) return { errorAt: start }
      ESCAPE.lastIndex = index
      const isUnicode = text[index + 1] === 'u'
      const isRight = ESCAPE.test(text) && !(isUnicode && ESCAPE.lastIndex === text.length)
      if (!isRight) return { errorAt: isUnicode ? index + 1 : index }
      index = ESCAPE.lastIndex
    } else if (text.charCodeAt(index) < 0x20) {
      return { errorAt: index }
    } else {
      index += 1
    }
  }
  return { errorAt: start }
}
