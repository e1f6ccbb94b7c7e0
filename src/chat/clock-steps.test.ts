import { expect, setDefaultTimeout, test } from 'bun:test'
import { startChatApp } from '../../test/harness/chat/chat-app.ts'
import { beginTurn } from '../../test/harness/chat/turns.ts'
import { withEachEngine } from '../../test/harness/contract.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { connected } from '../../test/harness/postgres/database.ts'

/** Clock steps happen when a time server is reached late, a virtual machine resumes, or somebody sets the clock. */

setDefaultTimeout(120_000)

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** Longer than the interval for finding dead answers or checking for listeners. */
const LOOKED_AGAIN_MS = 2_500

/** Longer than a process may be silent before it counts as dead. */
const SILENT_MS = 7_000

/** As if the store's clock had advanced by a minute. */
const SQLITE_AGES = 'UPDATE answers SET alive_at = alive_at - 60000, heard_at = heard_at - 60000'
const POSTGRES_AGES =
  "UPDATE answers SET alive_at = alive_at - interval '1 minute', heard_at = heard_at - interval '1 minute'"

test("an answer goes on when the machine's clock steps forward, and when it steps back", async () => {
  await using server = await startChatApp(sqlite, { isKept: true })
  const { chat, model } = server
  const { listener, call } = await beginTurn(chat, model, 'stepped')
  await call.send('one ')
  await listener.until('one')
  for (const step of [MINUTE_MS, -MINUTE_MS, 8 * DAY_MS]) {
    using _ = clockSteps(step)
    await Bun.sleep(LOOKED_AGAIN_MS)
    expect(await chat.status('stepped'), `${step}`).toBe('{"status":"running"}')
  }
  void call.answer('two').catch(() => {})
  expect(await listener.end()).toContain('<p>one two</p>')
})

test("an answer followed from another process goes on when the machine's clock steps forward", async () => {
  await using server = await startChatApp(sqlite, { limits: { unheardMaxMs: 1_500 } })
  await using other = await server.startOther()
  const { chat, model } = server
  const { listener: first, call } = await beginTurn(chat, model, 'followed')
  await call.send('one ')
  await first.until('one')
  const follower = other.chat.listen('followed')
  await follower.until('one')
  first.leave()
  {
    using _ = clockSteps(MINUTE_MS)
    await Bun.sleep(LOOKED_AGAIN_MS)
  }
  void call.answer('two').catch(() => {})
  expect(await follower.end()).toContain('<p>one two</p>')
})

test('a clock step of eight days deletes nothing at once; after it, prompts age at twice the pace', async () => {
  const clock = manualClock()
  await using server = await startChatApp(sqlite, { clock })
  const { chat, prompts } = server
  await prompts.prune()
  await chat.post('kept', 'kept')
  using _ = clockStep(8 * DAY_MS)
  await chat.post('next', 'next')
  for (const [milliseconds, status] of [
    [0, 200],
    [MINUTE_MS, 200],
    [3 * DAY_MS, 200],
    [DAY_MS, 404],
  ] as const) {
    clock.advance(milliseconds)
    await prompts.prune()
    expect((await chat.get('/chat/kept')).status, `${milliseconds}`).toBe(status)
  }
})

withEachEngine('clock steps of the store', engine => {
  test('a clock step of the store ends no answer: neither as dead nor as unheard', async () => {
    await using server = await startChatApp(engine, { isKept: true })
    const { chat, model, databaseUrl } = server
    const { listener, call } = await beginTurn(chat, model, 'stepped')
    await call.send('one ')
    await listener.until('one')
    const until = performance.now() + SILENT_MS
    await using database = connected(databaseUrl)
    if (engine === sqlite) await database.unsafe('PRAGMA busy_timeout = 5000')
    while (performance.now() < until) {
      await database.unsafe(engine === sqlite ? SQLITE_AGES : POSTGRES_AGES)
      await Bun.sleep(20)
    }
    void call.answer('two').catch(() => {})
    expect(await listener.end()).toContain('<p>one two</p>')
  })
})

/** The machine's clock is ahead by this much until the step is disposed of. */
function clockStep(milliseconds: number): Disposable {
  return clockAhead(() => milliseconds)
}

/** The machine's clock steps by this much every tenth of a second until it is disposed of. */
function clockSteps(milliseconds: number): Disposable {
  const began = performance.now()
  return clockAhead(() => milliseconds * Math.ceil((performance.now() - began) / 100))
}

function clockAhead(by: () => number): Disposable {
  const real = Date.now
  Date.now = () => real() + by()
  return {
    [Symbol.dispose]: () => {
      Date.now = real
    },
  }
}
