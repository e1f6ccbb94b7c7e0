import { describe, expect, test } from 'bun:test'
import { ask, openModel } from '../../test/harness/model-client.ts'
import { event, type Protocol, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'

/** The system instruction and the prompt of the harness have 40 bytes. */
const ESTIMATED_INPUT = 10

for (const protocol of PROTOCOLS) tellsUsage(protocol)

function tellsUsage(protocol: Protocol): void {
  describe(`a model asked at ${protocol.path}`, () => {
    test('the usage of an answer is told once, as the provider reports it', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.send('A tool.')
      await call.finish('whole', { input: 1_234, output: 567 })
      await answer.end()
      expect(answer.usages).toEqual([{ inputTokens: 1_234, outputTokens: 567 }])
    })

    test('the usage of an answer that reaches the length limit of the model is told', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.send('A tool')
      await call.finish('too long', { input: 1_234, output: 567 })
      await answer.end()
      expect(answer.usages).toEqual([{ inputTokens: 1_234, outputTokens: 567 }])
    })

    test('the usage of an answer that reaches that limit before its first word is told, too', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      await (await server.nextCall()).finish('too long', { input: 1_234, output: 567 })
      await answer.end()
      expect(answer.usages).toEqual([{ inputTokens: 1_234, outputTokens: 567 }])
    })

    test('the usage of an answer that was stopped is estimated from the text so far, thoughts included', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.think('t'.repeat(400))
      await call.send('a'.repeat(800))
      await answer.piece()
      answer.stop()
      await answer.end()
      expect(answer.usages).toEqual([{ inputTokens: ESTIMATED_INPUT, outputTokens: 300 }])
    })

    test('the usage of an answer that breaks off is estimated', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.send('a'.repeat(800))
      await call.breakOff()
      expect((await answer.end()).failure?.failure).toBe('cut off')
      expect(answer.usages).toEqual([{ inputTokens: ESTIMATED_INPUT, outputTokens: 200 }])
    })

    test('an answer that is refused uses nothing', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      await (await server.nextCall()).refuse(401)
      await answer.end()
      expect(answer.usages).toEqual([{ inputTokens: 0, outputTokens: 0 }])
    })
  })
}

/** A server that reports no usage. */
const silent: Protocol = { ...openaiChat, read: request => ({ ...openaiChat.read(request), wantsUsage: false }) }

test('the usage of a server that reports none is estimated', async () => {
  await using server = await startModelServer(silent)
  const answer = ask(await openModel(server.environment))
  await (await server.nextCall()).answer('für 🌱', '.')
  await answer.end()
  expect(answer.usages).toEqual([{ inputTokens: ESTIMATED_INPUT, outputTokens: 3 }])
})

test('a count that a server leaves out is estimated, and the other one is told as reported', async () => {
  const partly = async (usage: object) => {
    await using server = await startModelServer(silent)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('a'.repeat(800))
    await call.sendRaw(event({ choices: [], usage }))
    await call.finish()
    await answer.end()
    return answer.usages
  }
  expect(await partly({ prompt_tokens: 1_234, total_tokens: 1_801 })).toEqual([
    { inputTokens: 1_234, outputTokens: 200 },
  ])
  expect(await partly({ completion_tokens: 567 })).toEqual([{ inputTokens: ESTIMATED_INPUT, outputTokens: 567 }])
})

test('the usage of the demo model is estimated', async () => {
  const answer = ask(await openModel({}))
  const { text } = await answer.end()
  expect(answer.usages).toEqual([
    { inputTokens: ESTIMATED_INPUT, outputTokens: Math.ceil(Buffer.byteLength(text) / 4) },
  ])
})
