import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { ask, openModel } from '../../test/harness/model-client.ts'
import { type ModelServer, startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { openaiResponses } from '../../test/harness/peers/openai-responses.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'
import { type Run, run } from '../../test/harness/service.ts'

test('OpenAI is told not to store the answer', async () => {
  await using server = await startModelServer(openaiResponses)
  const answer = ask(await openModel(server.environment))
  const call = await server.nextCall()
  expect(call.body).toMatchObject({ store: false })
  await call.answer('Yes.')
  await answer.end()
})

test('answers that run at the same time are independent', async () => {
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

test('a model writes nothing to the console, whatever happens', async () => {
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

test('opening a model loads the code of its provider and no other, and nothing is loaded before', async () => {
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

/** A separate program asks four times: the second answer is garbage, and the last is abandoned after its first piece. */
function askInProcess(server: ModelServer): Promise<Run> {
  return evaluation(
    `
    const { openChatModel } = await import('./models/open.ts')
    const { readCommandLine } = await import('./program/config.ts')
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

/** Runs a few lines in their own process, in the source folder. */
function evaluation(program: string, environment: Record<string, string>): Promise<Run> {
  return run(['--eval', program], { program: [process.execPath], environment, folder: resolve(import.meta.dir, '..') })
}
