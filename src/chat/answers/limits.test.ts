import { expect, test } from 'bun:test'
import { from, startChatApp } from '../../../test/harness/chat/chat-app.ts'
import { beginTurn } from '../../../test/harness/chat/turns.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { type Engine, sqlite } from '../../../test/harness/engines.ts'
import { until } from '../../../test/harness/until.ts'
import type { AnswerLimits } from './limits.ts'

withEachEngine('answer limits', engine => {
  const startChat = (limits: Partial<AnswerLimits>) => startChatApp(engine, { limits })

  test('an answer without listeners is stopped: the connection to the model is closed, the text so far is kept', async () => {
    await using server = await startChat({ unheardMaxMs: 300 })
    const { chat, model } = server
    const { listener, call } = await beginTurn(chat, model, 'unheard')
    await call.send('The beginning')
    await listener.until('The beginning')
    listener.leave()
    await call.closed
    const { text } = await chat.get('/chatstream/unheard')
    expect(text).toContain('<p>The beginning</p>&#10;<p class="note">The answer was stopped here, because nobody was')
    expect(model.calls).toHaveLength(1)
  })

  test('an answer goes on while somebody listens in another process, and no longer', async () => {
    const unheardMaxMs = 1_500
    await using server = await startChat({ unheardMaxMs })
    await using other = await server.startOther()
    const { chat, model } = server
    const { listener: first, call } = await beginTurn(chat, model, 'heard')
    await call.send('one ')
    await first.until('one')
    const follower = other.chat.listen('heard')
    await follower.until('one')
    first.leave()
    let isClosed = false
    void call.closed.then(() => {
      isClosed = true
    })
    const left = Date.now()
    await heardSince(engine, server.databaseUrl, 'heard', left + unheardMaxMs)
    expect(isClosed).toBe(false)
    await call.send('two')
    await follower.until('one two')
    follower.leave()
    await call.closed
  })

  test('more answers than may run at once wait in line, say so, and come in turn', async () => {
    await using server = await startChat({ runningMax: 1 })
    const { chat, model } = server
    for (const reqId of ['first', 'second', 'third']) await chat.post(reqId, reqId)
    const first = chat.listen('first')
    const call = await model.nextCall()
    const second = chat.listen('second')
    await until(async () => (await chat.status('second')) === '{"status":"waiting"}')
    const third = chat.listen('third')
    await until(async () => (await chat.status('third')) === '{"status":"waiting"}')
    expect(model.calls).toHaveLength(1)
    await call.answer('the first')
    await first.end()
    const next = await model.nextCall()
    expect(next.prompt).toBe('second')
    await next.answer('the second')
    expect(await second.end()).toContain('the second')
    const last = await model.nextCall()
    expect(last.prompt).toBe('third')
    await last.answer('the third')
    expect(await third.end()).toContain('the third')
  })

  test('an answer that waits in line can be stopped, and its place goes to the next', async () => {
    await using server = await startChat({ runningMax: 1 })
    const { chat, model } = server
    for (const reqId of ['first', 'second', 'third']) await chat.post(reqId, reqId)
    const first = chat.listen('first')
    const call = await model.nextCall()
    const second = chat.listen('second')
    await until(async () => (await chat.status('second')) === '{"status":"waiting"}')
    const third = chat.listen('third')
    await until(async () => (await chat.status('third')) === '{"status":"waiting"}')
    expect(await chat.stop('second')).toBe(204)
    expect(await second.end()).toContain('The answer was stopped.')
    await call.answer('done')
    await first.end()
    const next = await model.nextCall()
    expect(next.prompt).toBe('third')
    await next.answer('done')
    await third.end()
    expect(model.calls).toHaveLength(2)
  })

  test('a full line turns the next answer away for now, and accepts it later', async () => {
    await using server = await startChat({ runningMax: 1, waitingMax: 0 })
    const { chat, model } = server
    await chat.post('first', 'first')
    await chat.post('second', 'second')
    const first = chat.listen('first')
    const call = await model.nextCall()
    const { status, headers } = await chat.get('/chatstream/second')
    expect(status).toBe(503)
    expect(headers.get('Retry-After')).toBe('5')
    expect(await chat.status('second')).toBe('{"status":"new"}')
    await call.answer('done')
    await first.end()
    const second = chat.listen('second')
    await (await model.nextCall()).answer('done')
    expect(await second.end()).toContain('<p>done</p>')
  })

  test("no client gets all places: the next client is answered before the first client's waiting answers", async () => {
    await using server = await startChat({ runningMax: 4, waitingMax: 20 })
    const { chat, model } = server
    const flooder = from('203.0.113.1')
    for (let index = 0; index < 12; index += 1) {
      await chat.post(`flood-${index}`, `flood-${index}`, flooder)
      void chat
        .listen(`flood-${index}`, flooder)
        .end()
        .catch(() => {})
    }
    const floods = [await model.nextCall(), await model.nextCall(), await model.nextCall()]
    const { listener: early, call } = await beginTurn(chat, model, 'early', 'early', from('203.0.113.2'))
    expect(call.prompt).toBe('early')
    await chat.post('late', 'late', from('203.0.113.3'))
    const late = chat.listen('late', from('203.0.113.3'))
    await until(async () => (await chat.status('late')) === '{"status":"waiting"}')
    await floods[0]?.answer('done')
    const next = await model.nextCall()
    expect(next.prompt).toBe('late')
    await next.answer('The late answer.')
    await call.answer('The early answer.')
    expect(await late.end()).toContain('The late answer.')
    expect(await early.end()).toContain('The early answer.')
    expect((await model.nextCall()).prompt).toStartWith('flood-')
  })

  test('a client gets no more than its share of running answers, and others still get theirs', async () => {
    await using server = await startChat({ runningMax: 2, waitingMax: 20, perAddressMax: 5 })
    const { chat, model } = server
    // All of one network.
    const addressOf = (index: number) => from(`2001:db8:0:1::${index}`)
    const statuses = await Promise.all(
      Array.from({ length: 9 }, async (_, index) => {
        await chat.post(`many-${index}`, 'many', addressOf(index))
        const listener = chat.listen(`many-${index}`, addressOf(index))
        void listener.end().catch(() => {})
        const { status, headers } = await listener.head
        if (status === 429) expect(headers.get('Retry-After')).toBe('5')
        return status
      }),
    )
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429, 429])
    await model.nextCall()
    const other = from('2001:db8:0:2::1')
    await chat.post('other', 'other', other)
    const listener = chat.listen('other', other)
    await (await model.nextCall()).answer('For the other.')
    expect(await listener.end()).toContain('For the other.')
  })

  test('answers that wait in line when a process ends are answered by another process', async () => {
    await using server = await startChat({ runningMax: 1 })
    const { model } = server
    const { other, first, second, call } = await waitsInLine(server)
    await using _ = other
    await other.answers.close(0)
    expect(await first.end()).toContain('The answer was interrupted here')
    expect(await second.end()).not.toContain('event')
    await call.closed
    const again = server.chat.listen('second')
    await (await model.nextCall()).answer('done')
    expect(await again.end()).toContain('<p>done</p>')
  })

  test('an answer that waits in line stays stopped, even if its process ends before it learns of that', async () => {
    await using server = await startChat({ runningMax: 1 })
    const { model } = server
    const { other, first, second } = await waitsInLine(server)
    await using _ = other
    await server.chat.stop('second')
    expect(await server.chat.status('second')).toBe('{"status":"ended"}')
    await other.answers.close(0)
    await Promise.all([first.end(), second.end()])
    expect((await server.chat.get('/chatstream/second')).text).toContain('The answer was stopped.')
    expect(model.calls).toHaveLength(1)
  })
})

/** Waits until somebody is known to have listened at this time, in milliseconds since 1970; the database is on this machine. */
function heardSince(engine: Engine, databaseUrl: string, reqId: string, milliseconds: number): Promise<void> {
  const time = engine === sqlite ? 'heard_at' : '(extract(epoch FROM heard_at) * 1000)::float8'
  const heard = `SELECT 1 FROM answers WHERE req_id = '${reqId}' AND ${time} >= ${milliseconds}`
  return until(async () => (await engine.read(databaseUrl, heard)).length > 0)
}

/** Starts another process, in which one answer runs and a second one waits in line. */
async function waitsInLine({ startOther, model }: Awaited<ReturnType<typeof startChatApp>>) {
  const other = await startOther()
  for (const reqId of ['first', 'second']) await other.chat.post(reqId, reqId)
  const first = other.chat.listen('first')
  const call = await model.nextCall()
  const second = other.chat.listen('second')
  await until(async () => (await other.chat.status('second')) === '{"status":"waiting"}')
  return { other, first, second, call }
}
