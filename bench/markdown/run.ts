import { openMarkdown } from '../../src/markdown/renderer.ts'
import { median } from '../statistics.ts'
import { ANSWER_CHARACTERS, PIECE_CHARACTERS, sampleAnswer } from './answer.ts'
import { costOf, cpuMilliseconds } from './cost.ts'
import { openWholeRendering } from './whole-rendering.ts'

const ROUNDS = 7
/** Rendering the whole answer is measured at every Nth piece, because measuring all of them takes a minute. */
const WHOLE_STEP = 40

const opening = cpuMilliseconds()
const markdown = await openMarkdown()
const opened = cpuMilliseconds() - opening

const answer = sampleAnswer(ANSWER_CHARACTERS)
const pieces = Math.ceil(answer.length / PIECE_CHARACTERS)
const quarters = quartersOf(answer)
const first = costOf(markdown, [answer])
const long: number[] = []
const short: number[] = []
const sent: number[] = []
for (let round = 0; round < ROUNDS; round++) {
  short.push(costOf(markdown, quarters) / quarters.length)
  long.push(costOf(markdown, [answer]))
  sent.push(costOf(markdown, [answer], Buffer.byteLength))
}

console.log(
  `an answer of ${answer.length} characters, half of it code, in ${pieces} pieces; CPU time of ${ROUNDS} rounds`,
)
console.log(`opening: ${opened.toFixed(0)} ms`)
console.log(`first answer: ${first.toFixed(0)} ms, ${(first / pieces).toFixed(3)} ms a piece`)
console.log(`after that: ${range(long)} ms, ${(median(long) / pieces).toFixed(3)} ms a piece`)
console.log(`with the bytes to send made of each rendering: ${range(sent)} ms`)
console.log(`a quarter of it, ${pieces / 4} pieces: ${range(short)} ms`)
console.log(`so ${pieces} pieces cost ${(median(long) / median(short)).toFixed(2)} times as much as ${pieces / 4}`)

const renderWhole = await openWholeRendering()
renderWhole(answer)
const stream = markdown.stream()
let sampled = 0
let checked = 0
for (let end = PIECE_CHARACTERS; end <= answer.length; end += PIECE_CHARACTERS) {
  stream.append(answer.slice(end - PIECE_CHARACTERS, end))
  if ((end / PIECE_CHARACTERS) % WHOLE_STEP !== 0) continue
  const before = cpuMilliseconds()
  const html = renderWhole(answer.slice(0, end))
  sampled += cpuMilliseconds() - before
  checked += 1
  if (html !== stream.html()) throw new Error(`the two differ after ${end} characters`)
}
const everything = sampled * WHOLE_STEP
console.log(
  `the whole answer each time, with markdown-it and Shiki: ${everything.toFixed(0)} ms (${checked} of ${pieces} pieces measured, the same output)`,
)
console.log(`that is ${(everything / median(long)).toFixed(0)} times as much`)

/** Splits the answer into four of about equal length. */
function quartersOf(text: string): string[] {
  const starts = [0, 1, 2, 3].map(quarter => text.lastIndexOf('## ', (quarter * text.length) / 4))
  return starts.map((start, quarter) => text.slice(Math.max(start, 0), starts[quarter + 1]))
}

function range(values: readonly number[]): string {
  return `${median(values).toFixed(0)} (${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`
}
