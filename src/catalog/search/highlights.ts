import { afterCodePoints, tracedBeginning } from './folding.ts'
import { isFound, type Search, type Term } from './search.ts'
import { TEXT_MAX_CODE_POINTS, wordsOf } from './words.ts'

/** Limits on an extract, and on what it shows before the first match, in code points. */
const EXTRACT_MAX = 160
const BEFORE_MATCH_MAX = 40

export interface TextPart {
  readonly text: string
  readonly match: boolean
}

interface Range {
  readonly start: number
  readonly end: number
}

interface Marked {
  /** Those of words that match, by their start; they do not touch. */
  readonly matches: readonly Range[]
  /** Where the words begin. */
  readonly starts: readonly number[]
}

export function highlightsOf(search: Search, name: string, description: string) {
  const terms = search.units.flat(2)
  const inDescription = marked(terms, description)
  const start = extractStart(description, inDescription)
  const extract = { start, end: afterCodePoints(description, start, EXTRACT_MAX) }
  return {
    name: partsOf(name, marked(terms, name).matches, { start: 0, end: name.length }),
    description: partsOf(description, inDescription.matches, extract),
  }
}

function marked(terms: readonly Term[], text: string): Marked {
  const { text: beginning, origins } = tracedBeginning(text, TEXT_MAX_CODE_POINTS)
  const matches: Range[] = []
  const starts: number[] = []
  for (const word of wordsOf(beginning)) {
    const start = origins?.[word.start]?.start ?? word.start
    starts.push(start)
    if (!terms.some(term => isFound(term, word.text))) continue
    matches.push({ start, end: origins?.[word.end - 1]?.end ?? word.end })
  }
  return { matches: merged(matches), starts }
}

function merged(ranges: readonly Range[]): Range[] {
  const apart: Range[] = []
  for (const range of ranges.toSorted((one, other) => one.start - other.start)) {
    const last = apart.at(-1)
    if (!last || range.start > last.end) apart.push(range)
    else apart[apart.length - 1] = { start: last.start, end: Math.max(last.end, range.end) }
  }
  return apart
}

/** The start of the first word within so many code points before the first match. */
function extractStart(text: string, { matches, starts }: Marked): number {
  const [first] = matches
  if (!first) return 0
  const before = text.slice(Math.max(0, first.start - 2 * BEFORE_MATCH_MAX), first.start)
  const earliest = first.start - [...before].slice(-BEFORE_MATCH_MAX).join('').length
  return starts.reduce((start, other) => (other >= earliest ? Math.min(start, other) : start), first.start)
}

function partsOf(text: string, matches: readonly Range[], { start, end }: Range): TextPart[] {
  const parts: TextPart[] = []
  let place = start
  const add = (until: number, match: boolean) => {
    const cut = Math.min(until, end)
    if (cut > place) parts.push({ text: text.slice(place, cut), match })
    place = cut
  }
  for (const range of matches) {
    add(range.start, false)
    add(range.end, true)
  }
  add(end, false)
  return parts
}
