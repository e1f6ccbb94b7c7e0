import { beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { from, startChatApp } from '../../../test/harness/chat/chat-app.ts'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { awayFromMidnight } from '../../../test/harness/chat/midnight.ts'
import { beginTurn } from '../../../test/harness/chat/turns.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { until } from '../../../test/harness/until.ts'
import type { DailyBounds } from './repository.ts'

setDefaultTimeout(120_000)
beforeEach(awayFromMidnight)

const DAY_SECONDS = 86_400
const DAY_MS = 1_000 * DAY_SECONDS

const MINE = '203.0.113.1'
const THEIRS = '203.0.113.2'

/** The system instruction and a prompt of sixteen letters have forty bytes, and thus ten tokens. */
const PROMPT = 'What is a spade?'
const PROMPT_TOKENS = 10

type ChatApp = Awaited<ReturnType<typeof startChatApp>>

withEachEngine('the bounds per day', engine => {
  const startChat = (bounds: Partial<DailyBounds>, runningMax = 16) =>
    startChatApp(engine, { bounds, limits: { runningMax } })

  test('beyond its answers, an address is told when it can ask again, and the model is not asked', async () => {
    await using app = await startChat({ answersMax: 2 })
    for (const reqId of ['one', 'two']) await answer(app, reqId)
    const { status, headers, page } = await app.chat.post('three', 'Only "this" one', from(MINE))
    expect(status).toBe(429)
    const midnight = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS
    const seconds = Number(headers.get('Retry-After'))
    expect(Math.abs(seconds - (midnight - Date.now()) / 1_000)).toBeLessThan(30)
    expect(page).toContain('Your network has reached its daily limit of 2 answers.')
    expect(page).toContain(`<time datetime="${new Date(midnight).toISOString()}">00:00 UTC</time>, in `)
    expect(page).toContain('\nOnly &quot;this&quot; one</textarea>')
    expect((await app.chat.get('/chat/three', { headers: from(MINE) })).status).toBe(404)
    expect((await app.chat.post('theirs', PROMPT, from(THEIRS))).status).toBe(200)
    expect(app.model.calls).toHaveLength(2)
    expect((await app.chat.get('/chat/one', { headers: from(MINE) })).text).toContain('<p>A tool.</p>')
    expect((await app.chat.post('one', PROMPT, from(MINE))).page).toContain('<p>A tool.</p>')
    expect((await app.chat.get('/chatstream/one', { headers: from(MINE) })).text).toContain('<p>A tool.</p>')
  })

  test('a prompt that was sent before the bound was reached says so too, wherever it is asked for', async () => {
    await using app = await startChat({ answersMax: 1 })
    await app.chat.post('waiting', PROMPT, from(MINE))
    await answer(app, 'one')
    for (const path of ['/chat/waiting', '/chat/waiting/answer']) {
      const { status, text } = await app.chat.get(path, { headers: from(MINE) })
      expect({ path, status }).toEqual({ path, status: path.endsWith('answer') ? 429 : 200 })
      expect(text).toContain('Your network has reached its daily limit of 1 answer.')
      expect(text).not.toContain('sse-connect')
      expect(text).not.toContain('http-equiv="refresh"')
    }
    const stream = await app.chat.get('/chatstream/waiting', { headers: from(MINE) })
    expect(stream.status).toBe(429)
    expect(Number(stream.headers.get('Retry-After'))).toBeLessThanOrEqual(DAY_SECONDS)
    // It has left the queue.
    expect(app.answers.figures.waiting).toBe(0)
    expect(JSON.parse((await app.chat.get('/chat/waiting/status', { headers: from(MINE) })).text)).toEqual({
      status: 'new',
      boundUntil: expect.stringMatching(/T00:00:00\.000Z$/),
    })
    expect((await app.chat.get('/chat/waiting/status', { headers: from(THEIRS) })).text).toBe('{"status":"new"}')
    // Another address may ask for it, and then this one may listen.
    const theirs = app.chat.listen('waiting', from(THEIRS))
    const call = await app.model.nextCall()
    const mine = app.chat.listen('waiting', from(MINE))
    await call.answer('A tool.')
    expect(await mine.end()).toContain('A tool.')
    await theirs.end()
  })

  test('a page that is opened while its answer is refused to a listener says so, too', async () => {
    await using app = await startChat({ answersMax: 1 })
    await app.chat.post('waiting', PROMPT, from(MINE))
    await answer(app, 'one')
    const statusOf = async (path: string) => [path, (await app.chat.get(path, { headers: from(MINE) })).status] as const
    const paths = ['/chatstream/waiting', '/chat/waiting', '/chat/waiting/status']
    const statuses = await Promise.all(Array.from({ length: 20 }, () => paths.map(statusOf)).flat())
    for (const [path, status] of statuses) expect([path, status]).toEqual([path, path === paths[0] ? 429 : 200])
  })

  test('an address that has reached its bound keeps no other one from an answer, even if both ask at the same moment', async () => {
    await using app = await startChat({ answersMax: 1 })
    await answer(app, 'one')
    const reqIds = Array.from({ length: 8 }, (_, place) => `both-${place}`)
    for (const [place, reqId] of reqIds.entries()) await app.chat.post(reqId, PROMPT, from(`198.51.100.${place}`))
    const streams = reqIds.map(async (reqId, place) => {
      const refused = app.chat.get(`/chatstream/${reqId}`, { headers: from(MINE) })
      const taken = await app.chat.get(`/chatstream/${reqId}`, { headers: from(`198.51.100.${place}`) })
      await refused
      return taken.status
    })
    for (const _ of reqIds) void app.model.nextCall().then(call => call.answer('A tool.'))
    expect(await Promise.all(streams)).toEqual(reqIds.map(() => 200))
  })

  test('many answers that begin at once in two processes stay within the bound', async () => {
    await using app = await startChat({ answersMax: 3 })
    await using other = await app.startOther()
    const chats = [app.chat, other.chat]
    const reqIds = Array.from({ length: 12 }, (_, place) => `at-once-${place}`)
    for (const reqId of reqIds) await app.chat.post(reqId, PROMPT, from(MINE))
    const streams = reqIds.map((reqId, place) => chats[place % 2]?.get(`/chatstream/${reqId}`, { headers: from(MINE) }))
    for (let calls = 0; calls < 3; calls += 1) await (await app.model.nextCall()).answer('A tool.')
    const statuses = (await Promise.all(streams)).map(stream => stream?.status)
    expect(statuses.filter(status => status === 200)).toHaveLength(3)
    expect(statuses.filter(status => status === 429)).toHaveLength(9)
    expect(app.model.calls).toHaveLength(3)
  })

  test('an answer that two processes begin at the same moment counts once', async () => {
    const rounds = 3
    // The process that comes second counts for a moment.
    await using app = await startChat({ answersMax: rounds + 1 })
    await using other = await app.startOther()
    for (let round = 0; round < rounds; round += 1) {
      const reqId = `round-${round}`
      expect((await app.chat.post(reqId, PROMPT, from(MINE))).status).toBe(200)
      const listeners = [app, other].map(({ chat }) => chat.listen(reqId, from(MINE)))
      await (await app.model.nextCall()).answer('A tool.')
      for (const listener of listeners) expect(await listener.end()).toContain('A tool.')
    }
    for (const { answers } of [app, other]) await until(() => answers.figures.waiting === 0)
  })

  test('tokens count as the model reports them; an answer in progress is finished, and then the bound holds', async () => {
    await using app = await startChat({ tokensMax: 100 })
    await answer(app, 'small', { input: 50, output: 49 })
    const { listener, call } = await beginTurn(app.chat, app.model, 'large', PROMPT, from(MINE))
    await call.send('A tool')
    await call.finish('whole', { input: 1_000, output: 1_000 })
    expect(await listener.end()).toContain('<p>A tool</p>')
    await expectRefused(app, 'Your network has reached its daily limit of 100 tokens.')
    expect(await spent(app)).toEqual([{ account: MINE, answers: 2, tokens: 2_099 }])
  })

  test('an answer that is stopped counts with the tokens of its text so far', async () => {
    await using app = await startChat({ tokensMax: PROMPT_TOKENS + 100 })
    const { listener, call } = await beginTurn(app.chat, app.model, 'stopped', PROMPT, from(MINE))
    await call.send('x'.repeat(400))
    await listener.until('xxx')
    await app.chat.stop('stopped')
    await listener.end()
    await expectRefused(app, 'Your network has reached its daily limit of 110 tokens.')
  })

  test('answers that cost nothing do not count: refused by the model, or stopped in the queue', async () => {
    await using app = await startChat({ answersMax: 2 }, 1)
    const { listener: running, call } = await beginTurn(app.chat, app.model, 'running', PROMPT, from(MINE))
    await app.chat.post('queued', PROMPT, from(MINE))
    const queued = app.chat.listen('queued', from(MINE))
    await until(async () => (await app.chat.status('queued')).includes('waiting'))
    expect((await app.chat.post('third', PROMPT, from(MINE))).status).toBe(429)
    await app.chat.stop('queued')
    await queued.end()
    await call.refuse(401)
    await running.end()
    await until(async () => (await spent(app)).every(({ answers }) => Number(answers) === 0))
    for (const reqId of ['one', 'two']) await answer(app, reqId)
    await expectRefused(app, 'Your network has reached its daily limit of 2 answers.')
  })

  test('an answer does not count if the database does not store that it has begun', async () => {
    await using app = await startChat({ answersMax: 1 })
    await app.chat.post('failing', PROMPT, from(MINE))
    const value = engine === sqlite ? 'json(state)' : '(state::int)'
    await engine.write(app.databaseUrl, `CREATE INDEX failing ON answers (${value})`)
    expect((await app.chat.get('/chatstream/failing', { headers: from(MINE) })).status).toBe(500)
    expect(app.answers.figures.waiting).toBe(0)
    await engine.write(app.databaseUrl, 'DROP INDEX failing')
    await answer(app, 'one')
    expect(await spent(app)).toMatchObject([{ account: MINE, answers: 1 }])
  })

  test('an answer that a stopping process releases from its queue counts once, where it runs', async () => {
    await using app = await startChat({ answersMax: 2 }, 1)
    const leaving = await app.startOther()
    const { listener: running, call } = await beginTurn(leaving.chat, app.model, 'running', PROMPT, from(MINE))
    await leaving.chat.post('queued', PROMPT, from(MINE))
    const queued = leaving.chat.listen('queued', from(MINE))
    await until(async () => (await app.chat.status('queued')).includes('waiting'))
    const closing = leaving.answers.close(5_000)
    await queued.end()
    await call.answer('A tool.')
    await running.end()
    await closing
    await leaving[Symbol.asyncDispose]()
    const again = app.chat.listen('queued', from(MINE))
    await (await app.model.nextCall()).answer('A tool.')
    expect(await again.end()).toContain('A tool.')
    expect(await spent(app)).toMatchObject([{ account: MINE, answers: 2 }])
  })

  test('the next day, an address may ask again, and what it spent before is deleted', async () => {
    await using app = await startChat({ answersMax: 1 })
    await answer(app, 'one')
    await expectRefused(app, 'Your network has reached its daily limit of 1 answer.')
    await engine.write(app.databaseUrl, 'UPDATE chat_spending SET day = day - 1')
    await answer(app, 'two')
    expect(await spent(app)).toHaveLength(2)
    await app.spending.prune()
    expect(await spent(app)).toMatchObject([{ account: MINE, answers: 1 }])
  })

  test('the bounds are read from their settings, and hold after a restart', async () => {
    const environment = { CHAT_ANSWERS_PER_DAY: '1', CHAT_TOKENS_PER_DAY: '1000000' }
    await using server = await startChatServer(engine, { environment })
    const { listener, call } = await beginTurn(server.chat, server.model, 'one', PROMPT)
    expect(call.wantsUsage).toBe(true)
    await call.answer('A tool.')
    await listener.end()
    expect((await server.chat.post('two', PROMPT)).status).toBe(429)
    await server.service.stop('SIGKILL')
    const again = await server.startAnother()
    expect((await again.chat.post('two', PROMPT)).status).toBe(429)
  })

  /** Asks from my address. Resolves when the answer has ended and is counted. */
  async function answer(app: ChatApp, reqId: string, tokens = { input: 1, output: 1 }): Promise<void> {
    const before = await tokensOf(app)
    const { listener, call } = await beginTurn(app.chat, app.model, reqId, PROMPT, from(MINE))
    await call.send('A tool.')
    await call.finish('whole', tokens)
    await listener.end()
    await until(async () => (await tokensOf(app)) === before + tokens.input + tokens.output)
  }

  async function expectRefused(app: ChatApp, reason: string): Promise<void> {
    await until(async () => (await app.chat.post('refused', PROMPT, from(MINE))).status === 429)
    expect((await app.chat.post('refused', PROMPT, from(MINE))).page).toContain(reason)
  }

  function spent({ databaseUrl }: ChatApp): Promise<{ account: string; answers: unknown; tokens: unknown }[]> {
    return engine.read(
      databaseUrl,
      'SELECT account, CAST(answers AS int) AS answers, CAST(tokens AS int) AS tokens FROM chat_spending',
    )
  }

  async function tokensOf(app: ChatApp): Promise<number> {
    return (await spent(app)).reduce((sum, { tokens }) => sum + Number(tokens), 0)
  }
})

test('an answer that did not begin and could not be taken back is in the log', async () => {
  await using server = await startChatServer(sqlite, { environment: { CHAT_ANSWERS_PER_DAY: '1' } })
  const { chat, databaseUrl, service } = server
  await chat.post('failing', PROMPT)
  await sqlite.write(
    databaseUrl,
    `CREATE INDEX failing ON answers (json(state));
    CREATE INDEX not_taken_back ON chat_spending (json(CASE answers WHEN 0 THEN 'wrong' ELSE '{}' END))`,
  )
  expect((await chat.get('/chatstream/failing')).status).toBe(500)
  await until(() => /"message":"an answer that did not begin stays counted: [^"]+"/.test(service.errors()))
})
