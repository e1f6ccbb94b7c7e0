/** How many Unicode code points a text has, as databases count characters. */
export function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
