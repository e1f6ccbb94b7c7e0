import { describe, expect, test } from 'bun:test'
import { ask, openModel, question } from '../../test/harness/model-client.ts'
import { expectFailureAmid, expectRefusal } from '../../test/harness/peers/model-failures.ts'
import { type ModelCall, type Protocol, startModelServer } from '../../test/harness/peers/model-server.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'

for (const protocol of PROTOCOLS) answersIn(protocol)

function answersIn(protocol: Protocol): void {
  describe(`a model asked at ${protocol.path}`, () => {
    test('gets the system instruction, the prompt and the credential', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment), { prompt: 'What is a spade?' })
      const call = await server.nextCall()
      expect(call).toMatchObject({ system: 'Answer in markdown only.', prompt: 'What is a spade?' })
      expect(call.credential).toContain('-credential')
      expect(server.environment.CHAT_MODEL).toEndWith(`:${call.model}`)
      await call.answer('A tool.')
      expect(await answer.end()).toEqual({ text: 'A tool.', failure: null })
    })

    test('answers piece by piece, each as soon as it is sent', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      for (const piece of ['# Spa', 'des\n', '\n', '> **für** 🌱 & <b>']) {
        await call.send(piece)
        expect(await answer.piece()).toBe(piece)
      }
      await call.finish()
      expect(await answer.end()).toEqual({ text: '# Spades\n\n> **für** 🌱 & <b>', failure: null })
    })

    test('keeps its thoughts out of the answer, and leaves out empty pieces', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.think('the user wants…')
      await call.send('')
      await call.answer('This', '', ' it is.')
      expect(await answer.end()).toEqual({ text: 'This it is.', failure: null })
      expect(answer.pieces).not.toContain('')
    })

    test('has its connection closed when the answer is stopped, and the answer ends quietly', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.send('So far')
      expect(await answer.piece()).toBe('So far')
      answer.stop()
      await call.closed
      expect(await answer.end()).toEqual({ text: 'So far', failure: null })
      expect(server.calls).toHaveLength(1)
    })

    test('has its connection closed when the answer is stopped before it begins', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      answer.stop()
      await call.closed
      expect(await answer.end()).toEqual({ text: '', failure: null })
      expect(server.calls).toHaveLength(1)
    })

    test('has its connection closed when the answer is left', async () => {
      await using server = await startModelServer(protocol)
      const pieces = (await openModel(server.environment)).answer(question())
      const first = pieces.next()
      const call = await server.nextCall()
      await call.send('So far')
      expect(await first).toEqual({ value: 'So far', done: false })
      await pieces.return()
      await call.closed
    })

    test('that refuses the credential is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(401), 'credential refused', 1)
    })

    test('that does not know the name of the model is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(404), 'model unknown', 1)
    })

    test('that refuses the question is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(400), 'request refused', 1)
    })

    test('that takes no more questions is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.refuse(429), 'rate limited', 3)
    })

    test('that fails is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.refuse(500), 'provider failed', 3)
    })

    test('that fails in the stream before it has begun is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.fail(), 'provider failed', 3)
    })

    test('that is cut before it has begun is asked three times in all', async () => {
      await expectRefusal(protocol, async call => call.cut(), 'unreachable', 3)
    })

    test('that sends garbage is not asked again', async () => {
      await expectRefusal(protocol, call => call.sendRaw('data: {nonsense\n\n'), 'not understood', 1)
    })

    test('that answers with a web page is not asked again', async () => {
      const page = (call: ModelCall) => call.reply(200, { 'Content-Type': 'text/html' }, '<h1>Welcome</h1>')
      await expectRefusal(protocol, page, 'not understood', 1)
    })

    test('that ends without a word is told of', async () => {
      await expectRefusal(protocol, call => call.finish(), 'empty', 1)
    })

    test('that withholds the answer is told of', async () => {
      await expectRefusal(protocol, call => call.finish('withheld'), 'withheld', 1)
    })

    test('that fails amid the answer is not asked again, and what came is kept', async () => {
      await expectFailureAmid(protocol, call => call.fail(), 'provider failed')
    })

    test('that is cut amid the answer is not asked again, and what came is kept', async () => {
      await expectFailureAmid(protocol, async call => call.cut(), 'cut off')
    })

    test('that ends its stream without the end of the answer is not taken for whole', async () => {
      await expectFailureAmid(protocol, call => call.breakOff(), 'cut off')
    })

    test('that sends garbage amid the answer is not asked again, and what came is kept', async () => {
      await expectFailureAmid(protocol, call => call.sendRaw('data: {nonsense\n\n'), 'not understood')
    })

    test('that comes to its own bound is told of, and what came is kept', async () => {
      await expectFailureAmid(protocol, call => call.finish('too long'), 'too long')
    })
  })
}
