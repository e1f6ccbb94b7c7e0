import { describe, expect, test } from 'bun:test'
import { type ManualClock, manualClock } from '../../test/harness/manual-clock.ts'
import { ask, openModel } from '../../test/harness/model-client.ts'
import { anthropicMessages } from '../../test/harness/peers/anthropic-messages.ts'
import { expectRefusal } from '../../test/harness/peers/model-failures.ts'
import { type ModelCall, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { openaiResponses } from '../../test/harness/peers/openai-responses.ts'

describe('retries', () => {
  test('a call that fails before the first piece is repeated after half a second, then after one second', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await (await server.nextCall()).refuse(503)
    await clock.waitedFor(500)
    clock.advance(500)
    await (await server.nextCall()).cut()
    await clock.waitedFor(1_000)
    clock.advance(1_000)
    await (await server.nextCall()).answer('There it is.')
    expect(await answer.end()).toEqual({ text: 'There it is.', failure: null })
  })

  test("a failed call is repeated when the provider's Retry-After says so", async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '7' } })
    await clock.waitedFor(7_000)
    clock.advance(7_000)
    await (await server.nextCall()).answer('There it is.')
    expect(await answer.end()).toEqual({ text: 'There it is.', failure: null })
  })

  test('a failed call is not repeated if the provider asks for more than 10 s', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment, manualClock()))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '11' } })
    const { failure } = await answer.end()
    expect(failure).toMatchObject({ failure: 'rate limited', message: expect.stringContaining('again in 11 seconds.') })
    expect(server.calls).toHaveLength(1)
  })

  test('of a Retry-After to which a proxy has added its own, the first counts', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment, manualClock()))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '12, 12' } })
    expect((await answer.end()).failure?.message).toEndWith('try again in 12 seconds.')
    expect(server.calls).toHaveLength(1)
  })

  test('a failed call is not repeated if the provider names a distant date', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment, manualClock()))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': 'Fri, 01 Jan 2100 00:00:00 GMT' } })
    expect((await answer.end()).failure?.message).toEndWith('try again later.')
    expect(server.calls).toHaveLength(1)
  })

  test('a failed call is repeated as usual if the provider names no time, or one in the past', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': 'soon' } })
    await clock.waitedFor(500)
    clock.advance(500)
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': 'Sat, 01 Jan 2000 00:00:00 GMT' } })
    await clock.waitedFor(1_000)
    clock.advance(1_000)
    await (await server.nextCall()).answer('There it is.')
    expect(await answer.end()).toEqual({ text: 'There it is.', failure: null })
  })

  test('a failed call is not repeated if the credit is used up', async () => {
    const spent = { code: 'insufficient_quota' }
    await expectRefusal(openaiChat, call => call.refuse(429, spent), 'no credit', 1)
    const message = 'Your credit balance is too low to access the Anthropic API.'
    await expectRefusal(anthropicMessages, call => call.refuse(400, { message }), 'no credit', 1)
  })

  test('a model that a server does not know is told as such, whatever the status', async () => {
    const openRouter = 'small-model is not a valid model ID'
    const liteLlm = '/chat/completions: Invalid model name passed in model=small-model'
    await expectRefusal(openaiChat, call => call.refuse(400, { message: openRouter }), 'model unknown', 1)
    await expectRefusal(openaiChat, call => call.refuse(400, { message: liteLlm }), 'model unknown', 1)
    const xAi = { code: 'Client specified an invalid argument', error: 'Model not found: small-model' }
    const mistral = { object: 'error', message: 'Invalid model: small-model', type: 'invalid_model', code: '1500' }
    for (const body of [xAi, mistral]) {
      const refuse = (call: ModelCall) => call.reply(400, { 'Content-Type': 'application/json' }, JSON.stringify(body))
      await expectRefusal(openaiChat, refuse, 'model unknown', 1)
    }
    await expectRefusal(openaiResponses, call => call.refuse(403, { code: 'model_not_found' }), 'model unknown', 1)
  })

  test('a server that takes no questions is not understood', async () => {
    await expectRefusal(openaiChat, call => call.refuse(405), 'not understood', 1)
  })

  test('a call is repeated if the provider gave up waiting for it', async () => {
    await expectRefusal(openaiChat, call => call.refuse(408), 'provider failed', 3)
  })

  test('a failure names no pause if the provider asks for none', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    for (let call = 0; call < 3; call += 1) {
      await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '0' } })
    }
    expect((await answer.end()).failure?.message).toEndWith('try again a little later.')
  })

  test('a failed call is not repeated if the answer is stopped meanwhile', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await (await server.nextCall()).refuse(503)
    await clock.waitedFor(500)
    answer.stop()
    expect(await answer.end()).toEqual({ text: '', failure: null })
    clock.advance(500)
    expect(server.calls).toHaveLength(1)
  })

  test('a failed call is not repeated after 120 s in all', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    const call = await server.nextCall()
    clock.advance(119_900)
    await call.refuse(503)
    await clock.waitedFor(500)
    clock.advance(500)
    expect(await answer.end()).toMatchObject({ failure: { failure: 'too slow to begin' } })
    expect(server.calls).toHaveLength(1)
  })

  test('a server that cannot be reached fails with an error that names CHAT_BASE_URL', async () => {
    const server = await startModelServer(openaiChat)
    await server[Symbol.asyncDispose]()
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await goThroughRetries(clock)
    const { failure } = await answer.end()
    expect(failure).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('CHAT_BASE_URL') })
  })

  test('a server without the TLS that its address asks for is not reached, and the error has the reason', async () => {
    await using server = await startModelServer(openaiChat)
    const CHAT_BASE_URL = server.address.replace('http:', 'https:')
    const clock = manualClock()
    const answer = ask(await openModel({ ...server.environment, CHAT_BASE_URL }, clock))
    await goThroughRetries(clock)
    const { failure } = await answer.end()
    expect(failure).toMatchObject({
      failure: 'unreachable',
      message: expect.stringMatching(/reached \(E[A-Z]+\): .*CHAT_BASE_URL/),
    })
  })
})

async function goThroughRetries(clock: ManualClock): Promise<void> {
  for (const milliseconds of [500, 1_000]) {
    await clock.waitedFor(milliseconds)
    clock.advance(milliseconds)
  }
}
