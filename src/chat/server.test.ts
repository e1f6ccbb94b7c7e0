import { expect, test } from 'bun:test'
import { startChatServer } from '../../test/harness/chat/chat-server.ts'
import { chatOnEachEngine } from '../../test/harness/chat/turns.ts'
import { run } from '../../test/harness/service.ts'
import { until } from '../../test/harness/until.ts'

chatOnEachEngine('the chat server', ({ chat, listen }, engine) => {
  test('the status of an answer is new, running or ended', async () => {
    await chat.post('status', 'where is it')
    expect(await chat.status('status')).toBe('{"status":"new"}')
    const { listener, call } = await listen('status')
    await call.send('here')
    await listener.until('here')
    await until(async () => (await chat.status('status')) === '{"status":"running"}')
    await call.finish()
    await listener.end()
    await until(async () => (await chat.status('status')) === '{"status":"ended"}')
  })

  test('a page of another origin may link to the chat, but may not post, stop or begin anything', async () => {
    const body = new URLSearchParams({ user_prompt: 'not for them' })
    const own = { Origin: chat.address, Referer: `${chat.address}/`, 'Sec-Fetch-Site': 'same-origin' }
    const foreign: Record<string, string>[] = [
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Referer: 'https://evil.example/' },
    ]
    await chat.post('cross-site', 'for us')
    for (const [place, headers] of foreign.entries()) {
      const name = JSON.stringify(headers)
      expect((await chat.get(`/chat/theirs-${place}`, { headers, method: 'POST', body })).status, name).toBe(403)
      expect((await chat.get(`/chatstream/theirs-${place}`)).status, name).toBe(404)
      expect((await chat.get('/chat/cross-site/stop', { headers, method: 'POST' })).status, name).toBe(403)
      expect((await chat.get('/chatstream/cross-site', { headers })).status, name).toBe(403)
      expect((await chat.get('/chat/cross-site/answer', { headers })).status, name).toBe(403)
      expect((await chat.get('/chat/cross-site', { headers })).status, name).toBe(200)
    }
    expect(await chat.status('cross-site')).toBe('{"status":"new"}')
    expect((await chat.get('/chat/ours', { headers: own, method: 'POST', body })).status).toBe(200)
    expect((await chat.get('/chat/ours/stop', { headers: own, method: 'POST' })).status).toBe(204)
  })

  test('HEAD begins nothing, and answers as GET would', async () => {
    await chat.post('headers-alone', 'headers alone')
    const stream = await chat.get('/chatstream/headers-alone', { method: 'HEAD' })
    expect(stream).toMatchObject({ status: 200, text: '' })
    expect(stream.headers.get('Content-Type')).toBe('text/event-stream')
    expect(await chat.get('/chat/headers-alone/answer', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
    expect(await chat.status('headers-alone')).toBe('{"status":"new"}')
    for (const path of ['/chatstream/nothing', '/chat/nothing/answer']) {
      expect((await chat.get(path, { method: 'HEAD' })).status, path).toBe(404)
    }
  })

  test('the chat is alive and ready, and knows no other path and no other method', async () => {
    expect((await chat.get('/healthz')).text).toBe('{"status":"ok"}')
    expect((await chat.get('/readyz')).text).toBe('{"status":"ready"}')
    expect((await chat.get('/nowhere')).text).toBe('{"detail":"Not Found"}')
    const { status, headers, text } = await chat.get('/chatstream/x', { method: 'DELETE' })
    expect(status).toBe(405)
    expect(headers.get('Allow')).toBe('GET, HEAD')
    expect(text).toBe('{"detail":"Method Not Allowed"}')
  })

  test('the chat serves what its pages need, under /static', async () => {
    const { text } = await chat.get('/')
    const paths = [...text.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g)].map(([, path]) => path ?? '')
    expect(paths).toContainEqual(expect.stringContaining('/static/chat.js'))
    for (const path of paths) expect((await chat.get(path)).status, path).toBe(200)
  })

  test('a chat that is stopped at the moment when it is ready ends cleanly', async () => {
    for (let time = 0; time < 2; time += 1) {
      await using started = await startChatServer(engine)
      expect(await started.service.stop(), started.service.errors()).toBe(0)
    }
  })

  test('a wrong setting stops the chat at once, with one line and exit status 2', async () => {
    const { status, errors } = await run(['chat'], { environment: { CHAT_MODEL: 'nobody:knows' } })
    expect(status).toBe(2)
    expect(errors).toMatch(/^stockroom: CHAT_MODEL: .*\n$/)
  })
})
