/** The length of a text in Unicode code points, as Python and the databases count it. */
export function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** A text that was cut anywhere, without half of a code point at its end. */
export function withoutHalf(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '')
}
