/** As many characters that may change places when they are normalized, as the Stream-Safe Text Format permits (UAX #15, 13). */
const MARKS_MAX = 30
const MARKS = new RegExp(`[\\p{M}\\uff9e\\uff9f]{${MARKS_MAX}}`, 'gu')

/**
 * Normalizes a text in pieces that end after so many marks, because the time grows with the square of their number. It does so in
 * short texts, too, because a word must be the same in a query as in a description.
 */
export function normalized(text: string, form: 'NFC' | 'NFKD'): string {
  if (text.length <= MARKS_MAX) return text.normalize(form)
  let whole = ''
  let start = 0
  for (const marks of text.match(MARKS) ?? []) {
    const end = text.indexOf(marks, start) + marks.length
    whole += text.slice(start, end).normalize(form)
    start = end
  }
  return whole + text.slice(start).normalize(form)
}
