import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { campaign } from '../../test/harness/campaign.ts'
import type { ChatClient } from '../../test/harness/chat/chat-client.ts'
import { type ChatServer, MANY_PROMPTS, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { beginTurn, TERMINATE } from '../../test/harness/chat/turns.ts'
import { withEachEngine } from '../../test/harness/contract.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

let server: ChatServer
let here: ChatClient
let there: ChatClient

withEachEngine('several processes', engine => {
  beforeAll(async () => {
    server = await startChatServer(engine, { environment: MANY_PROMPTS })
    here = server.chat
    there = (await server.startAnother()).chat
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('a prompt that one process accepted is answered by another', async () => {
    await here.post('elsewhere', 'What is a spade?')
    const listener = there.listen('elsewhere')
    const call = await server.model.nextCall()
    expect(call.prompt).toBe('What is a spade?')
    await call.answer('A spade.')
    expect(await listener.end()).toEndWith(TERMINATE)
    expect((await here.get('/chatstream/elsewhere')).text).toContain('<p>A spade.</p>')
  })

  test('a running answer can be joined from another process: the text so far, the rest, the end, from one call', async () => {
    const { listener, call } = await beginTurn(here, server.model, 'joined')
    await call.send('one ')
    await listener.until('one')
    const joined = there.listen('joined')
    await joined.until('<p>one</p>')
    await call.send('two ')
    await joined.until('<p>one two</p>')
    await call.send('three')
    await call.finish()
    expect(await joined.end()).toContain('<p>one two three</p>')
    expect(joined.wire()).toEndWith(TERMINATE)
    expect(callsFor('joined')).toBe(1)
  })

  test('the model is asked once, no matter who connects to which process at the same moment', async () => {
    await here.post('race', 'race')
    const listeners = [here, there, here, there, here, there].map(chat => chat.listen('race'))
    await (await server.model.nextCall()).answer('Only ', 'once.')
    for (const listener of listeners) expect(await listener.end()).toContain('<p>Only once.</p>')
    expect(callsFor('race')).toBe(1)
  })

  test('a page reopened through another process shows the turn while it runs, and when it has ended', async () => {
    const { listener, call } = await beginTurn(here, server.model, 'reloaded')
    await call.send('one ')
    await listener.until('one')
    const { status, text } = await there.get('/chat/reloaded')
    expect(status).toBe(200)
    expect(text).toContain('>reloaded</div>')
    expect(text).toContain('sse-connect="/chatstream/reloaded"')
    await until(async () => (await there.status('reloaded')) === '{"status":"running"}')
    await call.answer('two')
    await listener.end()
    await until(async () => (await there.status('reloaded')) === '{"status":"ended"}')
    const ended = (await there.get('/chat/reloaded')).text
    expect(ended).toContain('<p>one two</p>')
    expect(ended).not.toContain('sse-connect')
  })

  test('a prompt posted again to another process once its answer has begun stays as it was', async () => {
    const { listener, call } = await beginTurn(here, server.model, 'kept', 'the first')
    expect((await there.post('kept', 'another')).page).toContain('>the first</div>')
    await call.answer('done')
    await listener.end()
  })

  campaign('prompts posted and asked for everywhere at once are asked as they stand', async ({ rounds }) => {
    for (const time of rounds(6)) {
      const reqId = `meeting-${time}`
      expect(await here.post(reqId, `${reqId} here`)).toMatchObject({ status: 200 })
      const listener = here.listen(reqId)
      const [{ page }, call] = await Promise.all([there.post(reqId, `${reqId} there`), server.model.nextCall()])
      expect((await here.get(`/chat/${reqId}`)).text).toContain(`>${call.prompt}</div>`)
      expect(page).toContain(`>${reqId} `)
      await call.answer('done')
      await listener.end()
    }
  })

  test('stopping an answer from another process is final: the connection to the model is closed', async () => {
    const { listener, call } = await beginTurn(here, server.model, 'stopped')
    await call.send('The beginning')
    await listener.until('The beginning')
    expect(await there.stop('stopped')).toBe(204)
    await call.closed
    expect(await listener.end()).toContain('<p>The beginning</p>&#10;<p class="note">The answer was stopped.</p>')
    expect((await there.get('/chatstream/stopped')).text).toContain('The answer was stopped.')
    expect(callsFor('stopped')).toBe(1)
  })

  test('a process killed during an answer leaves it readable and marked, also for listeners of other processes', async () => {
    const doomed = await server.startAnother()
    const { listener: lost, call } = await beginTurn(doomed.chat, server.model, 'killed')
    await call.send('The beginning')
    await lost.until('The beginning')
    const follower = there.listen('killed')
    await follower.until('The beginning')
    lost.leave()
    await doomed.stop('SIGKILL')
    const events = await follower.events()
    expect(events.at(-2)?.chunk).toContain('<p>The beginning</p>&#10;<p class="note">The answer was interrupted here')
    expect(follower.wire()).toEndWith(TERMINATE)
    expect((await here.get('/chatstream/killed')).text).toContain('The answer was interrupted here')
    expect(callsFor('killed')).toBe(1)
  })

  test('an answer taken for dead while its process lives has one ending, and all text that arrived', async () => {
    const { listener, call } = await beginTurn(here, server.model, 'undead')
    await call.send('one ')
    await listener.until('one')
    await engine.write(server.databaseUrl, "UPDATE answers SET state = 'interrupted' WHERE req_id = 'undead'")
    // It may be closed before.
    await Promise.race([call.send('two '), call.closed])
    await call.closed
    const last = (await listener.events()).at(-2)
    expect(last?.chunk).toContain('<p class="note">The answer was interrupted here')
    expect(last?.chunk).toContain('<p>one')
    const kept = () => there.get('/chat/undead')
    const text = last?.chunk.slice(last.chunk.indexOf('<p>one'), last.chunk.indexOf('</p>')) ?? ''
    await until(async () => (await kept()).text.includes(text))
    expect((await kept()).text).toContain('The answer was interrupted here')
    expect(callsFor('undead')).toBe(1)
  })

  test('what a killed process left unfinished is ended by the next one that starts', async () => {
    const doomed = await server.startAnother()
    const { listener: lost, call } = await beginTurn(doomed.chat, server.model, 'left')
    await call.send('The beginning')
    await lost.until('The beginning')
    const follower = there.listen('left')
    await follower.until('The beginning')
    follower.leave()
    lost.leave()
    await doomed.stop('SIGKILL')
    const next = await server.startAnother()
    // Not more often: each look is a request, and this takes five seconds.
    while ((await next.chat.status('left')) !== '{"status":"ended"}') await Bun.sleep(400)
    const { text } = await next.chat.get('/chat/left')
    expect(text).toContain('The beginning')
    expect(text).toContain('The answer was interrupted here')
    await next.stop()
  })

  test('a process told to stop lets an answer finish', async () => {
    const leaving = await server.startAnother()
    const { listener, call } = await beginTurn(leaving.chat, server.model, 'whole')
    await call.send('one ')
    await listener.until('one')
    const stopped = leaving.stop()
    await call.send('two')
    await call.finish()
    expect(await listener.end()).toContain('<p>one two</p>')
    expect(listener.wire()).toEndWith(TERMINATE)
    expect(await stopped).toBe(0)
  })

  test('a process told to stop stores a long answer as interrupted, says so, and ends', async () => {
    const leaving = await server.startAnother()
    const { listener, call } = await beginTurn(leaving.chat, server.model, 'endless')
    await call.send('The beginning')
    await listener.until('The beginning')
    expect(await leaving.stop()).toBe(0)
    await call.closed
    expect(await listener.end()).toContain('<p>The beginning</p>&#10;<p class="note">The answer was interrupted here')
    expect(listener.wire()).toEndWith(TERMINATE)
    expect((await here.get('/chatstream/endless')).text).toContain('The answer was interrupted here')
    expect(callsFor('endless')).toBe(1)
  })

  test('a listener of a process told to stop can go on listening through another', async () => {
    const { listener: first, call } = await beginTurn(here, server.model, 'moved')
    const leaving = await server.startAnother()
    const follower = leaving.chat.listen('moved')
    await call.send('one ')
    await follower.until('one')
    expect(await leaving.stop()).toBe(0)
    expect(await follower.end()).not.toContain('Terminate')
    await call.send('two')
    await call.finish()
    expect((await there.get('/chatstream/moved')).text).toContain('<p>one two</p>')
    await first.end()
  })
})

function callsFor(prompt: string): number {
  return server.model.calls.filter(call => call.prompt === prompt).length
}
