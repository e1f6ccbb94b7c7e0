/** The noun as it follows the number: 1 line, 2 lines. */
export function plural(noun: string, count: number): string {
  return count === 1 ? noun : `${noun}s`
}
