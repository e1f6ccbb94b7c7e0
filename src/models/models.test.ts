import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Evaluation, evaluation } from '../../test/harness/evaluation.ts'
import { type ManualClock, manualClock } from '../../test/harness/manual-clock.ts'
import { ask, failureOf, openModel, question } from '../../test/harness/model-client.ts'
import { googleGenerate } from '../../test/harness/peers/google-generate.ts'
import { expectRefusal } from '../../test/harness/peers/model-failures.ts'
import { type ModelServer, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { openaiResponses } from '../../test/harness/peers/openai-responses.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

describe('an answer', () => {
  test('that does not begin within 120 s fails, and its connection is closed', async () => {
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

  test('that falls silent for 60 s fails, its connection is closed, and what came is kept', async () => {
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

  test('that is only slow is never cut', async () => {
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

  test('has begun when the model thinks, however long that takes', async () => {
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

  test('may be read as slowly as one likes', async () => {
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

  test('longer than 65,536 characters is ended there, and its connection is closed', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.send('x'.repeat(65_530))
    await answer.piece()
    await call.send('🌱🌱🌱🌱')
    await call.closed
    const { text, failure } = await answer.end()
    expect(text).toBe(`${'x'.repeat(65_530)}🌱🌱🌱`)
    expect(failure).toMatchObject({ failure: 'too long', message: expect.stringContaining('65,536 characters') })
  })

  test('of exactly 65,536 characters is whole', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.answer('x'.repeat(65_536))
    expect(await answer.end()).toEqual({ text: 'x'.repeat(65_536), failure: null })
  })

  test('of which more than 64 MiB come over the wire is ended there', async () => {
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

  test('that comes all at once leaves everybody else a turn', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    const begun = performance.now()
    let longest = 0
    let last = begun
    const turns = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    await call.sendAtOnce(Array.from({ length: 40_000 }, () => 'x'))
    await call.finish()
    expect((await answer.end()).text).toBe('x'.repeat(40_000))
    clearInterval(turns)
    expect(longest).toBeLessThan((performance.now() - begun) / 3)
  })

  test('with carriage returns for line breaks is read as quickly as any', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    const begun = performance.now()
    await call.sendRaw('\r'.repeat(4 * 1_048_576))
    await call.sendRaw(`:\r\n:\r`)
    await call.send('Well.')
    await call.finish()
    expect(await answer.end()).toEqual({ text: 'Well.', failure: null })
    expect(performance.now() - begun).toBeLessThan(1_500)
  })

  test('that calls tool upon tool, though none was offered, is ended', async () => {
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

  test('keeps all that came in one go before its connection was cut', async () => {
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

  test('holds no U+0000, which no database takes', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const call = await server.nextCall()
    await call.answer('a\0b')
    expect(await answer.end()).toEqual({ text: 'a\uFFFDb', failure: null })
  })

  test('that is stopped beforehand asks nobody', async () => {
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

describe('a call that fails before its first piece', () => {
  test('is made again after half a second, then after one', async () => {
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

  test('is made again when the provider says that it may be', async () => {
    await using server = await startModelServer(openaiChat)
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '7' } })
    await clock.waitedFor(7_000)
    clock.advance(7_000)
    await (await server.nextCall()).answer('There it is.')
    expect(await answer.end()).toEqual({ text: 'There it is.', failure: null })
  })

  test('is not made again when the provider asks for more than 10 s', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment, manualClock()))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': '11' } })
    const { failure } = await answer.end()
    expect(failure).toMatchObject({ failure: 'rate limited', message: expect.stringContaining('again in 11 seconds.') })
    expect(server.calls).toHaveLength(1)
  })

  test('is not made again when the provider names a far date', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment, manualClock()))
    await (await server.nextCall()).refuse(429, { headers: { 'Retry-After': 'Fri, 01 Jan 2100 00:00:00 GMT' } })
    expect((await answer.end()).failure?.message).toEndWith('try again later.')
    expect(server.calls).toHaveLength(1)
  })

  test('is made again as usual when the provider names no time, or one that is past', async () => {
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

  test('is not made again when it is the money that is spent', async () => {
    const spent = { code: 'insufficient_quota' }
    await expectRefusal(openaiChat, call => call.refuse(429, spent), 'no credit', 1)
  })

  test('is not made again when the answer is stopped meanwhile', async () => {
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

  test('is not made again once 120 s have gone by in all', async () => {
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

  test('tells that nobody listens at the address', async () => {
    const server = await startModelServer(openaiChat)
    await server[Symbol.asyncDispose]()
    const clock = manualClock()
    const answer = ask(await openModel(server.environment, clock))
    await goThroughRetries(clock)
    const { failure } = await answer.end()
    expect(failure).toMatchObject({ failure: 'unreachable', message: expect.stringContaining('CHAT_BASE_URL') })
  })
})

describe('a credential', () => {
  test('does not follow a redirect to another server', async () => {
    await using elsewhere = await startModelServer(openaiChat)
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const location = `${elsewhere.address}/v1/chat/completions`
    await (await server.nextCall()).reply(307, { Location: location }, '')
    expect(await answer.end()).toMatchObject({ failure: { failure: 'not understood' } })
    expect(elsewhere.calls).toHaveLength(0)
  })

  test('and what the provider wrote are in no error', async () => {
    for (const protocol of PROTOCOLS) {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.refuse(401, { message: `no such key: ${call.credential}` })
      const { failure } = await answer.end()
      const shown = `${Bun.inspect(failure)} ${JSON.stringify(failure)}`
      expect(shown).not.toContain('-credential')
      expect(shown).not.toContain('no such key')
      expect(shown).not.toContain(server.address)
      expect(failure?.cause).toBeUndefined()
    }
  })

  test('that Google calls invalid with status 400 is told of as such', async () => {
    await using server = await startModelServer(googleGenerate)
    const answer = ask(await openModel(server.environment))
    await (await server.nextCall()).refuse(400, { code: 'API_KEY_INVALID' })
    const { failure } = await answer.end()
    expect(failure?.message).toBe('Google refused the credential: check GOOGLE_GENERATIVE_AI_API_KEY.')
  })

  test('is read from a file when the variable says so', async () => {
    await using server = await startModelServer(openaiChat)
    using folder = temporaryFolder()
    const file = join(folder.path, 'credential')
    writeFileSync(file, 'from-a-file\n')
    const { CHAT_API_KEY: _, ...environment } = server.environment
    const answer = ask(await openModel({ ...environment, CHAT_API_KEY_FILE: file }))
    const call = await server.nextCall()
    expect(call.credential).toBe('Bearer from-a-file')
    await call.answer('Yes.')
    await answer.end()
  })

  test('is not needed for a compatible server, which then gets none', async () => {
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel({ ...server.environment, CHAT_API_KEY: '' }))
    const call = await server.nextCall()
    expect(call.credential).toBeNull()
    await call.answer('Yes.')
    await answer.end()
  })
})

describe('the demo model', () => {
  test('says that it is one, with a list, a table, and the code that plugs in a real one', async () => {
    const { text, failure } = await demoAnswer('Hello')
    expect(failure).toBeNull()
    expect(text).toContain('This is the demo model')
    expect(text).toContain('not a language model')
    expect(text).toMatch(/^- /m)
    expect(text).toMatch(/^\| --- \|/m)
    expect(text).toMatch(
      /^```bash\n.*CHAT_MODEL=openai:.*OPENAI_API_KEY=.*CHAT_MODEL=compatible:.*CHAT_BASE_URL=.*^```$/ms,
    )
  })

  test('writes word by word, 20 ms apart', async () => {
    const clock = manualClock()
    const answer = ask(await openModel({}, clock))
    for (const word of ['# ', 'This ', 'is ', 'the ', 'demo ', 'model\n\n']) {
      await clock.waitedFor(20)
      clock.advance(20)
      expect(await answer.piece()).toBe(word)
    }
    answer.stop()
    expect((await answer.end()).failure).toBeNull()
  })

  test('answers the same to the same, and begins with what is asked for', async () => {
    const plain = (await demoAnswer('Hello')).text
    const table = (await demoAnswer('A conversation about code.\n\nShow me a TABLE of fruits')).text
    const code = (await demoAnswer('Which code does that?')).text
    expect((await demoAnswer('Good day')).text).toBe(plain)
    expect(new Set([plain, table, code]).size).toBe(3)
    expect(table.indexOf('| --- |')).toBeLessThan(table.indexOf('```'))
    expect(code.indexOf('```')).toBeLessThan(code.indexOf('| --- |'))
  })

  test('repeats nothing of the question', async () => {
    const { text } = await demoAnswer('<script>alert("xyzzy")</script> in a table')
    expect(text).not.toContain('xyzzy')
    expect(text).not.toContain('<script')
  })
})

test('OpenAI is asked not to keep the answer', async () => {
  await using server = await startModelServer(openaiResponses)
  const answer = ask(await openModel(server.environment))
  const call = await server.nextCall()
  expect(call.body).toMatchObject({ store: false })
  await call.answer('Yes.')
  await answer.end()
})

test('answers that run at once have nothing to do with each other', async () => {
  await using server = await startModelServer(openaiChat)
  const model = await openModel(server.environment)
  const answers = Array.from({ length: 50 }, (_, index) => ask(model, { prompt: `question ${index}` }))
  const calls = await Promise.all(answers.map(server.nextCall))
  await Promise.all(calls.map(call => call.send(`Answer to ${call.prompt}`)))
  await Promise.all(answers.map(answer => answer.piece()))
  for (const [index, answer] of answers.entries()) if (index % 2 === 0) answer.stop()
  const stopped = calls.filter(call => Number(call.prompt.split(' ')[1]) % 2 === 0)
  await Promise.all(stopped.map(call => call.closed))
  await Promise.all(calls.filter(call => !stopped.includes(call)).map(call => call.answer('.')))
  const ends = await Promise.all(answers.map(answer => answer.end()))
  expect(ends).toEqual(
    answers.map((_, index) => ({ text: `Answer to question ${index}${index % 2 === 0 ? '' : '.'}`, failure: null })),
  )
})

test('nothing is written to the console, whatever happens', async () => {
  for (const protocol of PROTOCOLS) {
    await using server = await startModelServer(protocol)
    const asking = askInProcess(server)
    await (await server.nextCall()).refuse(401)
    const call = await server.nextCall()
    await call.send('one')
    await call.sendRaw('data: {nonsense\n\n')
    await (await server.nextCall()).answer('two')
    const left = await server.nextCall()
    await left.send('three')
    await left.closed
    expect(await asking).toEqual({ output: '', errors: '', status: 0 })
  }
})

test('what asks a model is loaded when a model is opened, and only its provider is', async () => {
  const loaded = await evaluation(
    `
    const { openChatModel } = await import('./models/open.ts')
    const before = Object.keys(require.cache).filter(path => path.includes('/@ai-sdk/') || path.includes('/ai/'))
    await openChatModel({ provider: 'anthropic', model: 'm' }, null)
    const after = Object.keys(require.cache).filter(path => path.includes('/@ai-sdk/'))
    process.stdout.write(JSON.stringify({ before, after: after.map(path => path.split('/@ai-sdk/')[1].split('/')[0]) }))
  `,
    { ANTHROPIC_API_KEY: 'key' },
  )
  expect(loaded.errors).toBe('')
  const { before, after } = JSON.parse(loaded.output)
  expect(before).toEqual([])
  expect(after).toContain('anthropic')
  expect(after).not.toContain('openai')
  expect(after).not.toContain('google')
})

async function goThroughRetries(clock: ManualClock): Promise<void> {
  for (const milliseconds of [500, 1_000]) {
    await clock.waitedFor(milliseconds)
    clock.advance(milliseconds)
  }
}

async function demoAnswer(prompt: string) {
  return await ask(await openModel({}), { prompt }).end()
}

/** A program of its own asks four times: the second is given garbage, and the last is left after its first piece. */
function askInProcess(server: ModelServer): Promise<Evaluation> {
  return evaluation(
    `
    const { openChatModel } = await import('./models/open.ts')
    const { readCommandLine } = await import('./config.ts')
    const { chatBaseUrl, chatModel } = await import('./models/settings.ts')
    const line = readCommandLine([], [chatModel, chatBaseUrl])
    const model = await openChatModel(line.value(chatModel), line.value(chatBaseUrl))
    const question = { system: 'S', prompt: 'P', signal: new AbortController().signal }
    for (let time = 0; time < 3; time += 1) {
      try { for await (const piece of model.answer(question)); } catch {}
    }
    for await (const piece of model.answer(question)) break
  `,
    server.environment,
  )
}
