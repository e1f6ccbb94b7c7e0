import { join } from 'node:path'
import { ANSWER_CHARACTERS, PIECE_CHARACTERS, sampleAnswer } from '../markdown/answer.ts'
import { costOf } from '../markdown/cost.ts'
import type { BenchOptions } from '../options.ts'
import type { Version } from '../stockroom.ts'
import { inTurn, type Pair, type Row } from './turns.ts'

/** The cost per piece of an answer that is rendered as it arrives. Both versions render in this process. */
export async function compareMarkdown([before, now]: Pair<Version>, { rounds, seconds }: BenchOptions): Promise<Row> {
  const answer = sampleAnswer(ANSWER_CHARACTERS)
  const open = async ({ root }: Version) => {
    const renderer: typeof import('../../src/markdown/renderer.ts') = await import(
      join(root, 'src', 'markdown', 'renderer.ts')
    )
    const markdown = await renderer.openMarkdown()
    // The first answer warms the renderer up.
    costOf(markdown, [answer])
    return markdown
  }
  const turns = await inTurn([await open(before), await open(now)], rounds * seconds, markdown => ({
    requestsPerSecond: null,
    processorMicroseconds: (costOf(markdown, [answer]) * 1e3 * PIECE_CHARACTERS) / ANSWER_CHARACTERS,
  }))
  return { name: 'markdown', turns }
}
