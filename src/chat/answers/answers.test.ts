import { expect, test } from 'bun:test'
import { listenOnSocket } from '../../../test/harness/chat/socket-listener.ts'
import { chatOnEachEngine, TERMINATE } from '../../../test/harness/chat/turns.ts'
import { sqlite } from '../../../test/harness/engines.ts'

chatOnEachEngine('answers', ({ chat, begin, callsFor }, engine) => {
  test('a listener who joins a running answer gets all text so far, and the model is asked once', async () => {
    const { reqId, listener, call } = await begin('joined')
    await call.send('one ')
    await call.send('two ')
    await listener.until('two')
    const joined = chat.listen(reqId)
    expect((await joined.next()).chunk).toContain('<p>one two</p>')
    await call.send('three')
    await joined.until('one two three')
    await call.finish()
    expect(await joined.end()).toEndWith(TERMINATE)
    expect(await listener.end()).toEndWith(TERMINATE)
    expect(callsFor('joined')).toHaveLength(1)
  })

  test('a listener who comes after the answer gets it at once and whole, and the model is not asked again', async () => {
    const { reqId, listener, call } = await begin('ended')
    await call.answer('one ', 'two')
    await listener.end()
    expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(
      `event: Response\ndata: <div id="Response" hx-swap-oob="true"><p>one two</p>&#10;</div>\n\n${TERMINATE}`,
    )
    expect(callsFor('ended')).toHaveLength(1)
  })

  test('an answer goes on after all listeners leave, and is whole when one comes back', async () => {
    const { reqId, listener, call } = await begin('left')
    await call.send('one ')
    await listener.until('one')
    listener.leave()
    await listener.end()
    await call.send('two ')
    const back = chat.listen(reqId)
    await back.until('one two')
    await call.send('three')
    await call.finish()
    expect(await back.end()).toContain('<p>one two three</p>')
    expect(callsFor('left')).toHaveLength(1)
  })

  test('a stopped answer closes the connection to the model, keeps its text so far, and stays stopped', async () => {
    const { reqId, listener, call } = await begin('stopped')
    await call.send('The beginning')
    await listener.until('The beginning')
    expect(await chat.stop(reqId)).toBe(204)
    await call.closed
    const last = (await listener.events()).at(-2)
    expect(last?.chunk).toContain('<p>The beginning</p>&#10;<p class="note">The answer was stopped.</p>')
    expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(`event: Response\ndata: ${last?.chunk}\n\n${TERMINATE}`)
    expect(await chat.stop(reqId)).toBe(204)
    expect(callsFor('stopped')).toHaveLength(1)
  })

  test('an answer stopped before it began never asks the model', async () => {
    await chat.post('stopped-early', 'never asked')
    expect(await chat.stop('stopped-early')).toBe(204)
    const { text } = await chat.get('/chatstream/stopped-early')
    expect(text).toContain('The answer was stopped.')
    expect(text).toEndWith(TERMINATE)
    expect(callsFor('never asked')).toHaveLength(0)
  })

  test('an answer to no prompt cannot be stopped', async () => {
    expect(await chat.stop('unknown')).toBe(404)
    expect((await chat.get('/chat/unknown/status')).status).toBe(404)
  })

  // The database has no part in what follows.
  if (engine !== sqlite) return

  test('an answer reaches a thousand listeners to its end, from one call', async () => {
    const { reqId, listener, call } = await begin('a thousand')
    const listeners: ReturnType<typeof listenOnSocket>[] = []
    await call.send('Hello ')
    // Not all at once: a busy machine refuses connections when too many wait to be accepted.
    while (listeners.length < 1_000) {
      const next = Array.from({ length: 100 }, () => listenOnSocket(chat.address, reqId))
      await Promise.all(next.map(each => each.until('Hello')))
      listeners.push(...next)
    }
    await call.answer('to ', 'all')
    await Promise.all(listeners.map(each => each.until(TERMINATE)))
    for (const each of listeners) expect(each.read()).toContain('<p>Hello to all</p>')
    for (const each of listeners) each.leave()
    await listener.end()
    expect(callsFor('a thousand')).toHaveLength(1)
  }, 120_000)

  test('a slow reader misses events that newer ones replace, but never the last one', async () => {
    // The system keeps about 500 events for it. Twice as many pieces take four times as long, on a busy machine a minute.
    const pieces = 1_000
    const { reqId, listener, call } = await begin('slow reader')
    const slow = listenOnSocket(chat.address, reqId)
    await call.send('The beginning\n\n')
    await slow.until('The beginning')
    slow.stopReading()
    await call.sendAtOnce(Array.from({ length: pieces }, (_, index) => `line ${index} of the answer\n\n`))
    await call.finish()
    await listener.end()
    slow.goOnReading()
    await slow.until(TERMINATE)
    expect(slow.read()).toContain(`line ${pieces - 1} of the answer`)
    expect(slow.read().split('event: Response').length).toBeLessThan(0.75 * pieces)
    slow.leave()
  }, 120_000)
})
