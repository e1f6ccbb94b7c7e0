import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { sendLines } from '../../test/harness/raw-http.ts'
import { startServer } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

test("the chat's log has no complete id with which a turn could be read or stopped", async () => {
  using folder = temporaryFolder()
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${join(folder.path, 'chat.db')}`]
  await using chat = await startServer(['chat', ...place, '--log-level', 'debug'])
  const ids = [
    '0190f3c2-7d5e-7b7a-9d0a-3a1f5f3f2c11',
    'mine42',
    'ä'.repeat(20),
    '/leading-slash',
    '\\\\backslash',
    'a/inner/stops',
  ]
  for (const id of ids) {
    const path = encodeURIComponent(id)
    await fetch(`${chat.address}/chat/${path}`, { method: 'POST', body: new URLSearchParams({ user_prompt: 'Hello' }) })
    for (const other of [`/chat/${path}`, `/chat/${path}/status`, `/chat/${path}/`, `/x/../chat/${path}`]) {
      await fetch(chat.address + other)
    }
    await fetch(`${chat.address}/chatstream/${path}`, { method: 'HEAD' })
    await fetch(`${chat.address}/chat/${path}/stop`, { method: 'POST' })
    await sendLines(chat.address, `GET /x/../chat/${path} HTTP/1.1`, 'Host: h')
    await sendLines(chat.address, `GET /ch%61t/${path} HTTP/1.1`, 'Host: h')
    await sendLines(chat.address, `GET /chat//${path} HTTP/1.1`, 'Host: h')
    await sendLines(chat.address, `GET /chatstream%2f${path}%2Fstatus HTTP/1.1`, 'Host: h')
  }
  await chat.stop()
  for (const id of ids) {
    expect(chat.errors()).not.toContain(id)
    expect(chat.errors()).not.toContain(encodeURIComponent(id))
    for (const part of id.split(/[/\\]/).filter(part => part.length > 1)) expect(chat.errors()).not.toContain(part)
  }
  expect(chat.errors()).toContain('"/chat/0190f3c2…"')
  expect(chat.errors()).toContain('"/chat/0190f3c2…/status"')
  expect(chat.errors()).toContain('"/chatstream/0190f3c2…"')
  expect(chat.errors()).toContain('"/x/../chat/0190f3c2…"')
  expect(chat.errors()).toContain('"/chat/min…/stop"')
  expect(chat.errors()).toContain('"/chat/%2Fleadin…/stop"')
  expect(chat.errors()).toContain('"/chat/…%2Fin…%2Fst…/stop"')
  expect(chat.errors()).toContain('"/ch%61t/min…"')
  expect(chat.errors()).toContain('"/chatstream%2fmin…%2Fstatus"')
})
