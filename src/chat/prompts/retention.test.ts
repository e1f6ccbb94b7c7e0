import { expect, setDefaultTimeout, test } from 'bun:test'
import { from, startChatApp } from '../../../test/harness/chat/chat-app.ts'
import { beginTurn } from '../../../test/harness/chat/turns.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { run } from '../../../test/harness/service.ts'
import type { Retention } from './retention.ts'

setDefaultTimeout(120_000)

const HOUR = 3_600_000
const DAY = 24 * HOUR

withEachEngine('the retention of prompts', engine => {
  const startChat = (retention: Partial<Retention>) => startChatApp(engine, { retention })

  /** As if it had been sent that long ago. */
  const age = (databaseUrl: string, reqId: string, milliseconds: number) => {
    const by = engine === sqlite ? milliseconds : `${milliseconds} * interval '1 millisecond'`
    return engine.write(databaseUrl, `UPDATE prompts SET created_at = created_at - ${by} WHERE req_id = '${reqId}'`)
  }

  const addOld = (databaseUrl: string, count: number) => {
    const rows =
      engine === sqlite
        ? `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT 'old-' || i, 'old', 1 FROM n`
        : `SELECT 'old-' || i, 'old', to_timestamp(1) FROM generate_series(1, ${count}) AS i`
    return engine.write(databaseUrl, `INSERT INTO prompts (req_id, text, created_at) ${rows}`)
  }

  test('too many prompts are deleted: unanswered ones of the busiest address first, then old answers, never recent ones', async () => {
    await using server = await startChat({ promptsMax: 5 })
    const { chat, databaseUrl } = server
    const isThere = async (reqId: string) => (await chat.get(`/chat/${reqId}`)).status === 200
    for (const reqId of ['answered-1', 'answered-2']) {
      await chat.post(reqId, reqId, from('203.0.113.1'))
      await chat.stop(reqId)
      await age(databaseUrl, reqId, 2 * DAY)
    }
    await chat.post('other', 'other', from('203.0.113.2'))
    await age(databaseUrl, 'other', 4 * HOUR)
    for (const reqId of ['most-1', 'most-2']) {
      await chat.post(reqId, reqId, from('203.0.113.3'))
      await age(databaseUrl, reqId, 2 * HOUR)
    }
    const forgotten = ['most-1', 'other', 'most-2', 'answered-1', 'answered-2']
    const kept: string[] = []
    for (const [place, next] of forgotten.entries()) {
      expect(await isThere(next), `${next} before`).toBe(true)
      expect((await chat.post(`new-${place}`, 'new', from('203.0.113.4'))).status, next).toBe(200)
      kept.push(`new-${place}`)
      expect(await isThere(next), `${next} after`).toBe(false)
      for (const reqId of [...forgotten.slice(place + 1), ...kept]) expect(await isThere(reqId), reqId).toBe(true)
    }
    const full = await chat.post('one-too-many', 'What about <me>?', from('203.0.113.5'))
    expect(full.status).toBe(503)
    expect(full.headers.get('Retry-After')).toBe('60')
    expect(full.page).toContain('The chat is full.')
    expect(full.page).toContain('\nWhat about &lt;me&gt;?</textarea>')
    expect(await isThere('one-too-many')).toBe(false)
    for (const reqId of kept) expect(await isThere(reqId), reqId).toBe(true)
    expect((await chat.post('new-0', 'changed', from('203.0.113.4'))).page).toContain('>changed</div>')
  })

  test('a forgotten answer is gone from memory, too, and its id can be used for another prompt', async () => {
    await using server = await startChat({})
    const { chat, model, databaseUrl, prompts } = server
    await chat.post('again', 'first')
    await chat.stop('again')
    expect((await chat.get('/chatstream/again')).text).toContain('The answer was stopped.')
    await age(databaseUrl, 'again', 8 * DAY)
    await prompts.prune()
    expect((await chat.get('/chatstream/again')).status).toBe(404)
    expect((await chat.post('again', 'second')).page).not.toContain('The answer was stopped.')
    const listener = chat.listen('again')
    await (await model.nextCall()).answer('two')
    expect(await listener.end()).toContain('<p>two</p>')
  })

  test('prompts with a running answer are not deleted, however old they are', async () => {
    await using server = await startChat({ promptsMax: 1 })
    const { chat, model, databaseUrl, prompts } = server
    const { listener, call } = await beginTurn(chat, model, 'running')
    await age(databaseUrl, 'running', 8 * DAY)
    await prompts.prune()
    expect((await chat.post('next', 'next')).status).toBe(503)
    await call.answer('done')
    expect(await listener.end()).toContain('<p>done</p>')
  })

  test('prompts of one address have their own limit, in all processes together, and others are still accepted', async () => {
    await using server = await startChat({ perAddressMax: 3 })
    await using other = await server.startOther()
    const { chat } = server
    // All of one network.
    for (const index of [1, 2, 3]) {
      expect((await chat.post(`mine-${index}`, 'mine', from(`2001:db8:0:1::${index}`))).status).toBe(200)
    }
    for (const { post } of [chat, other.chat]) {
      const refused = await post('mine-4', 'Only "this" one', from('2001:db8:0:1::4'))
      expect(refused.status).toBe(429)
      expect(refused.headers.get('Retry-After')).toBe('3600')
      expect(refused.page).toContain('Too many messages have come from your network.')
      expect(refused.page).toContain('\nOnly &quot;this&quot; one</textarea>')
      expect(refused.page).toMatch(/<form id="composer" action="\/chat\/[0-9a-f-]{36}"/)
      expect((await post('mine-3', 'changed', from('2001:db8:0:1::4'))).page).toContain('>changed</div>')
      expect((await post(`theirs-${post === chat.post}`, 'theirs', from('2001:db8:0:2::1'))).status).toBe(200)
    }
    expect((await chat.get('/chat/mine-4')).status).toBe(404)
    await age(server.databaseUrl, 'mine-1', 2 * HOUR)
    expect((await chat.post('mine-5', 'mine', from('2001:db8:0:1::5'))).status).toBe(200)
  })

  test('prompts are kept without their address after a day, and deleted after a week', async () => {
    await using server = await startChat({})
    const { chat, databaseUrl, prompts } = server
    const ages = { today: 23 * HOUR, yesterday: 25 * HOUR, 'last-week': 8 * DAY }
    for (const [reqId, milliseconds] of Object.entries(ages)) {
      await chat.post(reqId, reqId, from('203.0.113.1'))
      await age(databaseUrl, reqId, milliseconds)
    }
    await prompts.prune()
    expect(await engine.read<object>(databaseUrl, 'SELECT req_id, address FROM prompts ORDER BY req_id')).toEqual([
      { req_id: 'today', address: '203.0.113.1' },
      { req_id: 'yesterday', address: null },
    ])
    expect((await chat.get('/chat/yesterday')).status).toBe(200)
    expect((await chat.get('/chat/last-week')).status).toBe(404)
  })

  test('all prompts that are too old are deleted, however many they are', async () => {
    await using server = await startChat({})
    const { chat, databaseUrl, prompts } = server
    await chat.post('young', 'young')
    await addOld(databaseUrl, 1_000)
    await prompts.prune()
    expect(await engine.read<object>(databaseUrl, 'SELECT req_id FROM prompts')).toEqual([{ req_id: 'young' }])
  })
})

test('CHAT limits that are not whole numbers above 0 stop the program, each by its name', async () => {
  for (const variable of ['CHAT_ANSWERS_PER_ADDRESS', 'CHAT_PROMPTS_PER_ADDRESS', 'CHAT_PROMPTS_MAX']) {
    for (const value of ['0', '-1', '1.5', 'many']) {
      const refused = await run(['chat'], { environment: { [variable]: value } })
      expectRefusal(refused, { status: 2, reason: new RegExp(`^stockroom: ${variable}: .* is not a whole number`) })
    }
  }
})
