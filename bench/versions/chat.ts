import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { measureAnswer, PIECES, startChat } from '../chat/measurement.ts'
import type { BenchOptions } from '../options.ts'
import type { Version } from '../stockroom.ts'
import { type Cost, inTurn, type Pair, type Row } from './turns.ts'

/** The coding that browsers ask for. */
const CODING = 'br'

/** The cost per piece of an answer: reading from the model, rendering, storing, compressing. */
export async function compareChat(
  [before, now]: Pair<Version>,
  directory: string,
  { rounds, seconds }: BenchOptions,
  interrupted: AbortSignal,
): Promise<Row> {
  await using model = await startModelServer(openaiChat)
  const turns: Pair<Cost>[] = []
  for (let round = 1; round <= rounds; round++) {
    await using stack = new AsyncDisposableStack()
    const start = async (version: Version) => {
      const running = stack.use(await startChat(version, directory, model, interrupted))
      // The first answer warms the server up.
      await measureAnswer(running, model, CODING)
      return running
    }
    const measured = await inTurn([await start(before), await start(now)], seconds, async running => {
      const { processorSeconds } = await measureAnswer(running, model, CODING)
      return {
        requestsPerSecond: null,
        processorMicroseconds: processorSeconds && (processorSeconds * 1e6) / PIECES.length,
      }
    })
    turns.push(...measured)
  }
  return { name: 'chat', turns }
}
