import { describe, expect, test } from 'bun:test'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { ask, failureOf, openModel, question } from '../../test/harness/model-client.ts'
import { anthropicMessages } from '../../test/harness/peers/anthropic-messages.ts'
import { googleGenerate } from '../../test/harness/peers/google-generate.ts'
import { expectFailureAmid } from '../../test/harness/peers/model-failures.ts'
import { event, type ModelCall, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { openaiResponses } from '../../test/harness/peers/openai-responses.ts'

describe('answers', () => {
  test('an answer that does not begin within 120 s fails, and its connection is closed', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    const call = await server.nextCall()
    clock.advance(119_999)
    expect(answer.isOver()).toBe(false)
    clock.advance(1)
    await call.closed
    expect(await answer.end()).toMatchObject({ text: '', failure: { failure: 'too slow to begin' } })
    expect(server.calls).toHaveLength(1)
  })

  test('an answer that falls silent for 60 s fails, its connection is closed, and its text so far is kept', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    const call = await server.nextCall()
    await call.send('So far')
    await answer.piece()
    clock.advance(60_000)
    await call.closed
    expect(await answer.end()).toMatchObject({ text: 'So far', failure: { failure: 'fell silent' } })
  })

  test('an answer that is only slow is never cut', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    const call = await server.nextCall()
    clock.advance(119_999)
    for (let minute = 0; minute < 60; minute += 1) {
      await call.send('.')
      await answer.piece()
      clock.advance(59_999)
    }
    await call.finish()
    expect(await answer.end()).toEqual({ text: '.'.repeat(60), failure: null })
  })

  test('an answer counts as begun while the model thinks, however long that takes', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    const call = await server.nextCall()
    for (let minute = 0; minute < 5; minute += 1) {
      await call.think('hm')
      await clock.waitedFor(60_000)
      clock.advance(59_999)
    }
    await call.answer('Yes.')
    expect(await answer.end()).toEqual({ text: 'Yes.', failure: null })
  })

  test('an answer may be read as slowly as the reader likes', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const pieces = (await openModel(server.environment, clock)).answer(question())
    const first = pieces.next()
    const call = await server.nextCall()
    await call.send('one')
    expect(await first).toEqual({ value: 'one', done: false })
    clock.advance(3_600_000)
    const second = pieces.next()
    await call.answer('two')
    expect(await second).toEqual({ value: 'two', done: false })
    expect(await pieces.next()).toEqual({ value: undefined, done: true })
  })

  test('an answer longer than 65,536 characters is cut there, and its connection is closed', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('x'.repeat(65_529))
    await answer.piece()
    await call.send('🌱🌱🌱🌱')
    await call.closed
    const { text, failure } = await answer.end()
    expect(text).toBe(`${'x'.repeat(65_529)}🌱🌱🌱`)
    expect(failure).toMatchObject({ failure: 'too long', message: expect.stringContaining('65,536 characters') })
  })

  test('an answer of exactly 65,536 characters is whole', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.answer('x'.repeat(65_536))
    expect(await answer.end()).toEqual({ text: 'x'.repeat(65_536), failure: null })
  })

  test('an answer that the provider ends with an error does not count as whole, and its text is kept', async () => {
    const malformed = event({ candidates: [{ index: 0, finishReason: 'MALFORMED_FUNCTION_CALL' }] })
    const failed = event({ type: 'response.failed', sequence_number: 9, response: { error: null } })
    const ending = (frame: string) => async (call: ModelCall) => {
      await call.sendRaw(frame)
      await call.breakOff()
    }
    const unexplained = event({ candidates: [{ index: 0, finishReason: 'OTHER' }] })
    await expectFailureAmid(googleGenerate, ending(malformed), 'provider failed')
    await expectFailureAmid(googleGenerate, ending(unexplained), 'provider failed')
    await expectFailureAmid(openaiResponses, ending(failed), 'provider failed')
  })

  test("an answer does not count as whole if it ends with a compatible server's own word for a cut", async () => {
    const ending = (finish_reason: string) => async (call: ModelCall) => {
      await call.sendRaw(event({ choices: [{ index: 0, delta: {}, finish_reason }] }))
      await call.breakOff()
    }
    await expectFailureAmid(openaiChat, ending('model_length'), 'too long')
    await expectFailureAmid(openaiChat, ending('insufficient_system_resource'), 'provider failed')
    await expectFailureAmid(openaiChat, ending('abort'), 'provider failed')
    await expectFailureAmid(openaiChat, ending('model_context_window_exceeded'), 'too long')
    await expectFailureAmid(openaiChat, ending('sensitive'), 'withheld')
    await expectFailureAmid(openaiChat, ending('network_error'), 'provider failed')
    await expectFailureAmid(openaiChat, ending('content_filter: RECITATION'), 'withheld')
  })

  test('an answer is not whole if the server has an empty word for the end with each piece, and is cut', async () => {
    const piece = event({ choices: [{ index: 0, delta: { content: '' }, finish_reason: '' }] })
    const cut = async (call: ModelCall) => {
      await call.sendRaw(piece)
      await call.breakOff()
    }
    await expectFailureAmid(openaiChat, cut, 'cut off')
  })

  test('an answer is whole after its last event, even if the server has no word for its end', async () => {
    for (const finish_reason of [null, '']) {
      await using server = await startModelServer(openaiChat)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.sendRaw(
        event({ choices: [{ index: 0, delta: { content: 'A "finish_reason": "stop"' }, finish_reason }] }),
      )
      // The rest of its end may arrive later, when nobody reads any more.
      await call.sendRaw(finish_reason === null ? 'data: [DONE]\n' : 'data: [DONE]\r')
      expect(await answer.end()).toEqual({ text: 'A "finish_reason": "stop"', failure: null })
    }
    const length = event({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }] })
    await expectFailureAmid(openaiChat, call => call.sendRaw(`${length}data: [DONE]\n\n`), 'too long')
  })

  test("an answer is whole if it ends with a compatible server's own word for the end", async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('A tool.')
    await call.sendRaw(event({ choices: [{ index: 0, delta: {}, finish_reason: 'eos_token' }] }))
    await call.breakOff()
    expect(await answer.end()).toEqual({ text: 'A tool.', failure: null })
  })

  test('an answer is whole after its last event, even if the server leaves the connection open', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('Well.\ndata: [DONE]\n\nThat ends it.')
    await answer.piece()
    await call.sendRaw(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    await call.sendRaw('data: [DO')
    await call.sendRaw('NE]\n\n')
    expect(await answer.end()).toEqual({ text: 'Well.\ndata: [DONE]\n\nThat ends it.', failure: null })
    await call.closed
  })

  test('an error amid the answer counts by the status that it names', async () => {
    const limited = event({ error: { message: 'Slow down', code: 429 } })
    await expectFailureAmid(openaiChat, call => call.sendRaw(limited), 'rate limited')
  })

  test("an error amid the answer is one in a compatible server's own shape, too", async () => {
    const sending = (error: object) => (call: ModelCall) => call.sendRaw(event(error))
    const tooLong = { object: 'error', message: 'Too long', type: 'BadRequestError', param: null, code: 400 }
    await expectFailureAmid(openaiChat, sending(tooLong), 'request refused')
    await expectFailureAmid(openaiChat, sending({ object: 'error', message: { detail: [] } }), 'provider failed')
    await expectFailureAmid(
      openaiChat,
      sending({ error: 'Out of memory', error_type: 'generation' }),
      'provider failed',
    )
    await expectFailureAmid(
      openaiChat,
      sending({ object: 'error', message: 'Too many', code: 40303 }),
      'provider failed',
    )
    await expectFailureAmid(openaiChat, sending({ object: 'list', data: [] }), 'not understood')
  })

  test('an event of a type that Anthropic has added is ignored, and one that is wrong is not', async () => {
    await using server = await startModelServer(anthropicMessages)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.sendRaw(event({ type: 'weather_report', is_sunny: true }))
    await call.send('So far')
    await call.sendRaw(event({ type: 'weather_report', is_sunny: false }))
    await call.answer(', so good.')
    expect(await answer.end()).toEqual({ text: 'So far, so good.', failure: null })
    const wrong = event({ type: 'content_block_delta', index: 'first' })
    await expectFailureAmid(anthropicMessages, wrongCall => wrongCall.sendRaw(wrong), 'not understood')
  })

  test("a compatible server's pings and its chunks without choices are no part of the answer", async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.sendRaw('data: {"type": "pi')
    await call.sendRaw('ng"}\r\n\r\n')
    await call.sendRaw(event({ id: 'chatcmpl-1', object: 'chat.completion.chunk' }))
    await call.send('So far')
    await call.sendRaw(event({ id: 'chatcmpl-1', choices: null }))
    await call.sendRaw('data: null\n\n')
    await call.sendRaw(event({ choices: [{ index: 0, delta: { content: ', “so”' } }], error: null }))
    await call.sendRaw(
      'data: {"object":"chat.completion.chunk",\ndata: "choices":[{"delta":{"content":" good."}}]}\n\n',
    )
    await call.sendRaw(event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    await call.sendRaw(
      event({ id: 'chatcmpl-1', usage: { prompt_tokens: 1_234, completion_tokens: 567 }, error: null }),
    )
    await call.breakOff()
    expect(await answer.end()).toEqual({ text: 'So far, “so” good.', failure: null })
    expect(answer.usages).toEqual([{ inputTokens: 1_234, outputTokens: 567 }])
    const failed = event({ object: 'chat.completion.chunk', choices: null, error: 'Out of memory' })
    await expectFailureAmid(openaiChat, failedCall => failedCall.sendRaw(failed), 'provider failed')
  })

  test('a chunk that is almost one without choices, thousands of times, holds up nobody', async () => {
    const wrong = `data: {${'"type":"ping",'.repeat(60_000)}\n\n`
    // A search from each beginning to the end takes a minute and a half.
    await expectFailureAmid(openaiChat, call => call.sendRaw(wrong), 'not understood')
  }, 10_000)

  test('an answer is cut once more than 64 MiB have come over the wire', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('So far')
    await answer.piece()
    const comment = `: ${'x'.repeat(1_048_576)}\n\n`
    for (let sent = 0; sent < 64 && !answer.isOver(); sent += 1)
      await Promise.race([call.sendRaw(comment), call.closed])
    await call.closed
    expect(await answer.end()).toMatchObject({ text: 'So far', failure: { failure: 'too long' } })
  })

  test('a refusal whose body does not end is told at once, and its connection is closed', async () => {
    await using server = await startModelServer(googleGenerate)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    call.begin(400)
    await call.sendRaw(JSON.stringify({ error: { status: 'API_KEY_INVALID' } }).padEnd(100_000))
    expect(await answer.end()).toMatchObject({ failure: { failure: 'credential refused' } })
    await call.closed
    expect(server.calls).toHaveLength(1)
  })

  test('an answer that arrives all at once leaves everybody else a turn', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    let most = 0
    let last = 0
    let isOver = false
    const nextTurn = () => {
      most = Math.max(most, answer.pieces.length - last)
      last = answer.pieces.length
      if (!isOver) setImmediate(nextTurn)
    }
    nextTurn()
    await call.sendAtOnce(Array.from({ length: 40_000 }, () => 'x'))
    await call.finish()
    expect((await answer.end()).text).toBe('x'.repeat(40_000))
    isOver = true
    expect(most).toBeLessThan(40_000 / 3)
  })

  test('an answer with millions of carriage returns for line breaks is read like any other', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    // A reader that begins again at each of them takes longer than a test may.
    await call.sendRaw('\r'.repeat(4 * 1_048_576))
    await call.sendRaw(`:\r\n:\r`)
    await call.send('Well.')
    await call.finish()
    expect(await answer.end()).toEqual({ text: 'Well.', failure: null })
  })

  test('an answer that keeps calling tools, though none was offered, is cut', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('So far')
    await answer.piece()
    for (let index = 0; index <= 100; index += 1) {
      const tool = { index, id: `call-${index}`, function: { name: 'buy', arguments: '{}' } }
      await call.sendRaw(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls: [tool] } }] })}\n\n`)
    }
    await call.closed
    expect(await answer.end()).toMatchObject({ text: 'So far', failure: { failure: 'not understood' } })
  })

  test('an answer keeps everything that arrived at once before its connection was cut', async () => {
    await using server = await startModelServer(openaiChat)
    const pieces = (await openModel(server.environment)).answer(question())
    const first = pieces.next()
    const call = await server.nextCall()
    const burst = Array.from({ length: 50 }, (_, index) => `piece ${index} `)
    await call.sendAtOnce(burst)
    expect(await first).toEqual({ value: 'piece 0 ', done: false })
    call.cut()
    await call.closed
    const rest: string[] = []
    const failure = await failureOf(async () => {
      for await (const piece of pieces) rest.push(piece)
    })
    expect(rest).toEqual(burst.slice(1))
    expect(failure).toMatchObject({ failure: 'cut off' })
  })

  test('an answer of nothing but white space is empty', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    await (await server.nextCall()).answer('\n\n', ' ', '\n')
    expect((await answer.end()).failure).toMatchObject({ failure: 'empty' })
    expect(server.calls).toHaveLength(1)
  })

  test('a U+0000 in an answer is replaced, since no database stores it', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.answer('a\0b')
    expect(await answer.end()).toEqual({ text: 'a\uFFFDb', failure: null })
  })

  test('an answer stopped before it is asked for makes no call', async () => {
    await using server = await startModelServer(openaiChat)
    const model = await openModel(server.environment)
    const stopped = model.answer(question({ signal: AbortSignal.abort() }))
    expect(await stopped.next()).toEqual({ value: undefined, done: true })
    const answer = ask(model)
    await (await server.nextCall()).answer('Here.')
    await answer.end()
    expect(server.calls).toHaveLength(1)
  })
})
