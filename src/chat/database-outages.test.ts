import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { startChatApp } from '../../test/harness/chat/chat-app.ts'
import type { ChatClient } from '../../test/harness/chat/chat-client.ts'
import { type ChatServer, startChatServerOn } from '../../test/harness/chat/chat-server.ts'
import { beginTurn, TERMINATE } from '../../test/harness/chat/turns.ts'
import { postgres } from '../../test/harness/engines.ts'
import { createDatabase } from '../../test/harness/postgres/database.ts'
import { PostgresServer } from '../../test/harness/postgres/server.ts'
import { openTcpProxy } from '../../test/harness/tcp-proxy.ts'
import { until } from '../../test/harness/until.ts'

/** Nodes of the chat while their database fails. */

setDefaultTimeout(120_000)

/** Longer than a process may be silent before it counts as dead. */
const PAUSE_MS = 8_000

const open = new AsyncDisposableStack()
let server: PostgresServer

beforeAll(async () => {
  server = open.use(await PostgresServer.start())
})
afterAll(() => open.disposeAsync())

test('a chat without its database shows its page, says that it is not ready, and serves once the database is there', async () => {
  await using database = await createDatabase(server.url())
  await server.stop()
  await using place = await startChatServerOn(database.url)
  const { chat, model, service } = place
  expect((await chat.get('/')).status).toBe(200)
  expect((await chat.get('/healthz')).status).toBe(200)
  const refused = await chat.get('/readyz')
  expect(refused).toMatchObject({ status: 503, text: '{"detail":"The database is unavailable"}' })
  expect(refused.headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
  for (const path of ['/chatstream/early', '/chat/early', '/chat/early/status']) {
    expect((await chat.get(path)).status, path).toBe(503)
  }
  expect((await chat.post('early', 'Are you there?')).status).toBe(503)
  expect(
    service
      .errors()
      .split('\n')
      .filter(line => line.includes('"logger":"chat"')),
  ).toEqual([])
  await server.start()
  await until(async () => (await chat.get('/readyz')).status === 200)
  await chat.post('early', 'Are you there?')
  const listener = chat.listen('early')
  await (await model.nextCall()).answer('I am.')
  expect(await listener.end()).toContain('<p>I am.</p>')
})

test('nodes that start at the same moment on an empty database create its tables once, and share answers', async () => {
  await using database = await createDatabase(server.url())
  await using place = await startChatServerOn(database.url)
  const nodes = [place, ...(await Promise.all([place.startAnother(), place.startAnother(), place.startAnother()]))]
  await ready(...nodes.map(({ chat }) => chat))
  await place.chat.post('shared', 'shared')
  const listeners = nodes.map(({ chat }) => chat.listen('shared'))
  await (await place.model.nextCall()).answer('for ', 'all')
  for (const listener of listeners) expect(await listener.end()).toContain('<p>for all</p>')
  expect(place.model.calls).toHaveLength(1)
})

test('an answer goes on while the database restarts, is stored whole, and reaches all listeners', async () => {
  await underWay(async ({ send, followed }) => {
    await server.stop('fast')
    await send('two ')
    await server.start()
    await followed('one two')
    await server.restart('immediate')
    await send('three ')
    await followed('one two three')
  })
})

test('an answer whose database connections are cut again and again is stored whole, nothing twice', async () => {
  await using address = await openTcpProxy(server.port)
  await underWay(async ({ send, followed }) => {
    let text = 'one'
    for (const piece of ['two', 'three', 'four', 'five', 'six', 'seven']) {
      text += ` ${piece}`
      await send(`${piece} `)
      address.cut()
      await followed(text)
    }
  }, address.url)
})

test('an answer does not count as dead while the database is paused', async () => {
  await underWay(async ({ send, followed }) => {
    server.pause()
    await send('two ')
    await Bun.sleep(PAUSE_MS)
    server.resume()
    await followed('one two')
  })
})

test('an answer that ends while the database is down is stored once it is back', async () => {
  await using database = await createDatabase(server.url())
  await using place = await startChatServerOn(database.url)
  const other = (await place.startAnother()).chat
  await ready(place.chat, other)
  const { listener, call } = await beginTurn(place.chat, place.model, 'gone')
  await call.send('one ')
  const follower = other.listen('gone')
  await follower.until('one')
  await server.stop('immediate')
  await call.answer('two')
  expect(await listener.end()).toContain('<p>one two</p>')
  expect(listener.wire()).toEndWith(TERMINATE)
  await server.start()
  expect(await follower.end()).toContain('<p>one two</p>')
  expect(follower.wire()).toEndWith(TERMINATE)
  expect(follower.wire()).not.toContain('note')
})

test('an answer that somebody listens to on another node goes on after its database was down for longer than nobody may listen', async () => {
  const unheardMaxMs = 1_500
  const engine = { ...postgres, freshDatabase: () => createDatabase(server.url()) }
  await using node = await startChatApp(engine, { limits: { unheardMaxMs } })
  await using other = await node.startOther()
  const { listener, call } = await beginTurn(node.chat, node.model, 'heard')
  await call.send('one ')
  const follower = other.chat.listen('heard')
  await follower.until('one')
  listener.leave()
  await server.stop('fast')
  await Bun.sleep(2 * unheardMaxMs)
  await server.start()
  await call.send('two ')
  await follower.until('<p>one two</p>')
  await call.answer('three')
  expect(await follower.end()).toContain('<p>one two three</p>')
})

test('a node told to stop while its database is down ends cleanly', async () => {
  await using database = await createDatabase(server.url())
  await using place = await startChatServerOn(database.url)
  await ready(place.chat)
  const { listener, call } = await beginTurn(place.chat, place.model, 'left')
  await call.send('one ')
  await listener.until('one')
  await server.stop('immediate')
  expect(await place.service.stop()).toBe(0)
  expect(await listener.end()).toContain('The answer was interrupted here')
  await server.start()
})

/** On a busy machine, a node may start before its database has answered. */
async function ready(...nodes: readonly ChatClient[]): Promise<void> {
  for (const node of nodes) await until(async () => (await node.get('/readyz')).status === 200)
}

interface UnderWay {
  readonly send: (piece: string) => Promise<void>
  /** Resolves when a listener on another node has received this text. */
  readonly followed: (text: string) => Promise<unknown>
}

/** Runs an answer on one node with listeners there and on another; all of them must see its end. */
async function underWay(
  work: (answer: UnderWay) => Promise<void>,
  urlOf: (database: string) => string = database => server.url(database),
): Promise<void> {
  await using database = await createDatabase(server.url())
  await using place: ChatServer = await startChatServerOn(urlOf(database.name))
  const other = (await place.startAnother()).chat
  await ready(place.chat, other)
  const { listener, call } = await beginTurn(place.chat, place.model, 'answer')
  await call.send('one ')
  const follower = other.listen('answer')
  await follower.until('one')
  await work({ send: call.send, followed: text => follower.until(`<p>${text}</p>`) })
  await call.answer('The end.')
  for (const each of [listener, follower]) {
    expect((await each.events()).at(-2)?.chunk).toMatch(/<p>one .*The end\.<\/p>&#10;<\/div>$/)
    expect(each.wire()).toEndWith(TERMINATE)
    expect(each.wire()).not.toContain('note')
  }
  const whole = (await place.chat.get('/chatstream/answer')).text
  expect((await other.get('/chatstream/answer')).text).toBe(whole)
  expect((await listener.events()).at(-2)?.chunk).toBe(/data: (.*)/.exec(whole)?.[1] ?? '')
  expect(place.model.calls).toHaveLength(1)
}
