import { describe, expect, test } from 'bun:test'
import { ask, openModel, question } from '../../test/harness/model-client.ts'
import { expectFailureAmid, expectRefusal } from '../../test/harness/peers/model-failures.ts'
import { type ModelCall, type Protocol, startModelServer } from '../../test/harness/peers/model-server.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'

for (const protocol of PROTOCOLS) answersIn(protocol)

function answersIn(protocol: Protocol): void {
  describe(`a model asked at ${protocol.path}`, () => {
    test('a model gets the system instruction, the prompt and the credential', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment), { prompt: 'What is a spade?' })
      const call = await server.nextCall()
      expect(call).toMatchObject({ system: 'Answer in markdown only.', prompt: 'What is a spade?' })
      expect(call.credential).toContain('-credential')
      expect(server.environment.CHAT_MODEL).toEndWith(`:${call.model}`)
      await call.answer('A tool.')
      expect(await answer.end()).toEqual({ text: 'A tool.', failure: null })
    })

    test('a model gets the trace that its question belongs to', async () => {
      await using server = await startModelServer(protocol)
      const model = await openModel(server.environment)
      const trace = {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
        isSampled: true,
        state: 'a=1',
      }
      const answer = Array.fromAsync(model.answer(question({ trace })))
      const call = await server.nextCall()
      await call.answer('A tool.')
      expect(await answer).toEqual(['A tool.'])
      expect(call.headers).toMatchObject({
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        tracestate: 'a=1',
      })
    })

    test("a model's answer arrives piece by piece, each as soon as it is sent", async () => {
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

    test("a model's thoughts and empty pieces are left out of the answer", async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.think('the user wants…')
      await call.send('')
      await call.answer('This', '', ' it is.')
      expect(await answer.end()).toEqual({ text: 'This it is.', failure: null })
      expect(answer.pieces).not.toContain('')
    })

    test('events without data, with which some proxies keep a connection alive, are ignored', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.sendRaw('data:\n\n')
      await call.send('This')
      await call.sendRaw('event: ping\ndata: \n\n')
      await call.answer(' it is.')
      expect(await answer.end()).toEqual({ text: 'This it is.', failure: null })
    })

    test('stopping an answer closes the connection to the model, and the answer ends quietly', async () => {
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

    test('stopping an answer before it begins closes the connection to the model', async () => {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      answer.stop()
      await call.closed
      expect(await answer.end()).toEqual({ text: '', failure: null })
      expect(server.calls).toHaveLength(1)
    })

    test('leaving an answer closes the connection to the model', async () => {
      await using server = await startModelServer(protocol)
      const pieces = (await openModel(server.environment)).answer(question())
      const first = pieces.next()
      const call = await server.nextCall()
      await call.send('So far')
      expect(await first).toEqual({ value: 'So far', done: false })
      await pieces.return()
      await call.closed
    })

    test('a model that refuses the credential is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(401), 'credential refused', 1)
    })

    test('a provider that does not know the model is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(404), 'model unknown', 1)
    })

    test('a model that refuses the question is not asked again', async () => {
      await expectRefusal(protocol, call => call.refuse(400), 'request refused', 1)
    })

    test('a model that is out of capacity is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.refuse(429), 'rate limited', 3)
    })

    test('a model that fails is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.refuse(500), 'provider failed', 3)
    })

    test('a model that fails inside the stream before it begins is asked three times in all', async () => {
      await expectRefusal(protocol, call => call.fail(), 'provider failed', 3)
    })

    test('a model whose connection is cut before it begins is asked three times in all', async () => {
      await expectRefusal(protocol, async call => call.cut(), 'unreachable', 3)
    })

    test('a model that sends garbage is not asked again', async () => {
      await expectRefusal(protocol, call => call.sendRaw('data: {nonsense\n\n'), 'not understood', 1)
    })

    test('a model that answers with a web page is not asked again', async () => {
      const page = (call: ModelCall) => call.reply(200, { 'Content-Type': 'text/html' }, '<h1>Welcome</h1>')
      await expectRefusal(protocol, page, 'not understood', 1)
    })

    test('an answer that ends without a word is reported', async () => {
      await expectRefusal(protocol, call => call.finish(), 'empty', 1)
    })

    test('an answer that the model withholds is reported', async () => {
      await expectRefusal(protocol, call => call.finish('withheld'), 'withheld', 1)
    })

    test('a model that fails amid the answer is not asked again, and the text so far is kept', async () => {
      await expectFailureAmid(protocol, call => call.fail(), 'provider failed')
    })

    test('a model whose connection is cut amid the answer is not asked again, and the text so far is kept', async () => {
      await expectFailureAmid(protocol, async call => call.cut(), 'cut off')
    })

    test('a stream that ends without the end of the answer does not count as whole', async () => {
      await expectFailureAmid(protocol, call => call.breakOff(), 'cut off')
    })

    test('a model that sends garbage amid the answer is not asked again, and the text so far is kept', async () => {
      await expectFailureAmid(protocol, call => call.sendRaw('data: {nonsense\n\n'), 'not understood')
    })

    test("an answer that reaches the model's own limit is reported, and its text is kept", async () => {
      await expectFailureAmid(protocol, call => call.finish('too long'), 'too long')
    })
  })
}
