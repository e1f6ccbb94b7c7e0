import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChatClient } from '../../test/chat/chat-client.ts'
import { type ChatServer, startChatServer } from '../../test/chat/chat-server.ts'

let server: ChatServer
let here: ChatClient
let there: ChatClient

beforeAll(async () => {
  server = await startChatServer()
  here = server.chat
  there = (await server.startAnother()).chat
})
afterAll(() => server[Symbol.asyncDispose]())

const TERMINATE = 'event: Terminate\ndata: <div id="chat" hx-swap-oob="true"></div>\n\n'

test('a prompt that one process took is answered by another', async () => {
  await here.post('elsewhere', 'What is a spade?')
  const listener = there.listen('elsewhere')
  const call = await server.model.nextCall()
  expect(call.prompt).toBe('What is a spade?')
  await call.answer('A spade.')
  expect(await listener.end()).toEndWith(TERMINATE)
  expect((await here.get('/chatstream/elsewhere')).text).toContain('<p>A spade.</p>')
})

test('a running answer is joined from another process: the text so far, the rest, the end, and one call', async () => {
  await here.post('joined', 'joined')
  const listener = here.listen('joined')
  const call = await server.model.nextCall()
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

test('whoever connects where at the same moment, the model is asked once', async () => {
  await here.post('race', 'race')
  const listeners = [here, there, here, there, here, there].map(chat => chat.listen('race'))
  await (await server.model.nextCall()).answer('Only ', 'once.')
  for (const listener of listeners) expect(await listener.end()).toContain('<p>Only once.</p>')
  expect(callsFor('race')).toBe(1)
})

test('an answer is stopped from another process, for good: the connection to the model is closed', async () => {
  await here.post('stopped', 'stopped')
  const listener = here.listen('stopped')
  const call = await server.model.nextCall()
  await call.send('The beginning')
  await listener.until('The beginning')
  expect(await there.stop('stopped')).toBe(204)
  await call.closed
  expect(await listener.end()).toContain('<p>The beginning</p>&#10;<p class="note">The answer was stopped.</p>')
  expect((await there.get('/chatstream/stopped')).text).toContain('The answer was stopped.')
  expect(callsFor('stopped')).toBe(1)
})

test('a process that is killed amid an answer leaves it readable and marked, also to who listens elsewhere', async () => {
  const doomed = await server.startAnother()
  await doomed.chat.post('killed', 'killed')
  const lost = doomed.chat.listen('killed')
  const call = await server.model.nextCall()
  await call.send('The beginning')
  await lost.until('The beginning')
  const follower = there.listen('killed')
  await follower.until('The beginning')
  lost.leave()
  await doomed.stop('SIGKILL')
  letPass(60_000)
  const events = await follower.events()
  expect(events.at(-2)?.chunk).toContain('<p>The beginning</p>&#10;<p class="note">The answer was interrupted here')
  expect(follower.wire()).toEndWith(TERMINATE)
  expect((await here.get('/chatstream/killed')).text).toContain('The answer was interrupted here')
  expect(callsFor('killed')).toBe(1)
})

test('what a killed process has left is ended by the next one that starts', async () => {
  const doomed = await server.startAnother()
  await doomed.chat.post('left', 'left')
  const lost = doomed.chat.listen('left')
  const call = await server.model.nextCall()
  await call.send('The beginning')
  await lost.until('The beginning')
  while (stored('left').text === '') await Bun.sleep(10)
  lost.leave()
  await doomed.stop('SIGKILL')
  letPass(60_000)
  const next = await server.startAnother()
  while (stored('left').state !== 'interrupted') await Bun.sleep(10)
  expect((await next.chat.get('/chat/left')).text).toContain('The beginning')
  await next.stop()
})

test('a process that is told to stop lets an answer come to its end', async () => {
  const leaving = await server.startAnother()
  await leaving.chat.post('whole', 'whole')
  const listener = leaving.chat.listen('whole')
  const call = await server.model.nextCall()
  await call.send('one ')
  await listener.until('one')
  const stopped = leaving.stop()
  await call.send('two')
  await call.finish()
  expect(await listener.end()).toContain('<p>one two</p>')
  expect(listener.wire()).toEndWith(TERMINATE)
  expect(await stopped).toBe(0)
})

test('a process that is told to stop keeps a long answer as interrupted, says so, and ends within 5 s', async () => {
  const leaving = await server.startAnother()
  await leaving.chat.post('endless', 'endless')
  const listener = leaving.chat.listen('endless')
  const call = await server.model.nextCall()
  await call.send('The beginning')
  await listener.until('The beginning')
  const begun = performance.now()
  expect(await leaving.stop()).toBe(0)
  expect(performance.now() - begun).toBeLessThan(5_000)
  await call.closed
  expect(await listener.end()).toContain('<p>The beginning</p>&#10;<p class="note">The answer was interrupted here')
  expect(listener.wire()).toEndWith(TERMINATE)
  expect((await here.get('/chatstream/endless')).text).toContain('The answer was interrupted here')
  expect(callsFor('endless')).toBe(1)
}, 10_000)

test('one who listens through a process that is told to stop can go on listening through another', async () => {
  await here.post('moved', 'moved')
  const first = here.listen('moved')
  const call = await server.model.nextCall()
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

function callsFor(prompt: string): number {
  return server.model.calls.filter(call => call.prompt === prompt).length
}

/** As if so many milliseconds had gone by since any process said that it was alive. */
function letPass(milliseconds: number): void {
  using database = openDatabase()
  database.run('UPDATE answers SET alive_at = alive_at - ?', [milliseconds])
}

function stored(reqId: string): { state: string; text: string } {
  using database = openDatabase()
  const select = database.prepare<{ state: string; text: string }, [string]>(
    'SELECT state, text FROM answers WHERE req_id = ?',
  )
  return select.get(reqId) ?? { state: 'none', text: '' }
}

function openDatabase(): Database {
  const database = new Database(server.databaseUrl.slice('sqlite:'.length))
  database.run('PRAGMA busy_timeout = 5000')
  return database
}
