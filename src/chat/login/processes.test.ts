import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { from } from '../../../test/harness/chat/chat-app.ts'
import { startChatServer, startChatServerOn } from '../../../test/harness/chat/chat-server.ts'
import { cookieOf, logIn } from '../../../test/harness/chat/login.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { run } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const PASSWORD = 'correct horse battery'

const OPEN = 'anyone who can reach it may use it (no CHAT_PASSWORD, AUTH=off)'

withEachEngine('the password of several processes', engine => {
  test('a session works in every process and after a restart, and ends when the password changes', async () => {
    await using server = await startChatServer(engine, { environment: { CHAT_PASSWORD: PASSWORD } })
    const other = await server.startAnother()
    const addresses = [server.chat.address, other.chat.address]
    const [one, two] = await Promise.all(addresses.map(address => logIn(address, PASSWORD)))
    if (!one || !two) throw new Error('nobody logged in')
    expect((await other.chat.get('/', { headers: cookieOf(one) })).status).toBe(200)
    expect((await server.chat.get('/', { headers: cookieOf(two) })).status).toBe(200)
    await server.service.stop()
    const again = await server.startAnother()
    expect((await again.chat.get('/', { headers: cookieOf(one) })).status).toBe(200)
    await using changed = await startChatServerOn(server.databaseUrl, new AsyncDisposableStack(), {
      environment: { CHAT_PASSWORD: 'another password' },
    })
    expect((await changed.chat.get('/', { headers: cookieOf(one) })).status).toBe(401)
    expect((await logIn(changed.chat.address, PASSWORD)).status).toBe(401)
    expect((await again.chat.get('/', { headers: cookieOf(one) })).status).toBe(200)
  })

  test('neither the password nor a session is in the database or in the log', async () => {
    const environment = { CHAT_PASSWORD: PASSWORD, LOG_LEVEL: 'debug' }
    await using server = await startChatServer(engine, { environment })
    const session = cookieOf(await logIn(server.chat.address, PASSWORD)).Cookie
    await logIn(server.chat.address, `${PASSWORD}!`)
    await server.chat.get('/', { headers: { Authorization: `Bearer ${PASSWORD}` } })
    const [, signature = ''] = /([\w-]{43})$/.exec(session) ?? []
    expect(signature).not.toBe('')
    const stored = await engine.everything(server.databaseUrl)
    await server.service.stop()
    const written = server.service.errors() + server.service.output()
    for (const text of [stored, written]) {
      expect(text).not.toContain(PASSWORD)
      expect(text).not.toContain(signature)
    }
  })
})

test('a limit on requests is told before a session is asked for', async () => {
  const environment = { CHAT_PASSWORD: PASSWORD, RATE_LIMIT: '2/min' }
  await using server = await startChatServer(sqlite, { environment })
  const statuses: number[] = []
  for (let request = 0; request < 3; request += 1) statuses.push((await server.chat.get('/')).status)
  expect(statuses).toEqual([401, 401, 429])
})

test('the password may be in a file: the ready line then prints no warning, and the log tells when it is guessed', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'password')
  await Bun.write(file, `${PASSWORD}\n`)
  const environment = { CHAT_PASSWORD_FILE: file, TRUSTED_PROXIES: '1' }
  await using server = await startChatServer(sqlite, { environment })
  expect(server.service.output()).not.toContain(OPEN)
  expect((await logIn(server.chat.address, PASSWORD)).status).toBe(303)
  const guess = async (count: number, address: string) => {
    for (let guesses = 0; guesses < count; guesses += 1) {
      await logIn(server.chat.address, 'a wrong password', { headers: from(address) })
    }
  }
  await guess(12, '203.0.113.7')
  for (let network = 1; network <= 25; network += 1) await guess(1, `2001:db8:0:${network}::1`)
  await server.service.stop()
  const lines = server.service.errors().split('\n')
  expect(lines.filter(line => line.includes('too many wrong passwords from 203.0.113.7'))).toHaveLength(1)
  expect(lines.filter(line => line.includes('too many wrong passwords from all clients together'))).toHaveLength(1)
})

test('a password that is too short or cannot be typed is refused, and not repeated', async () => {
  for (const password of ['secret7', '🌱🌱🌱🌱', 'line\nbreak in it', 'a\tab in this']) {
    const { status, output, errors } = await run(['chat', '--port', '0'], { environment: { CHAT_PASSWORD: password } })
    expectRefusal({ status, output, errors }, { status: 2, reason: /^stockroom: CHAT_PASSWORD: a password / })
    expect(errors).not.toContain(password)
  }
})

test('an empty secret never means none: the program does not start', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'empty')
  await Bun.write(file, '\n')
  const postgres = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  const openai = { CHAT_MODEL: 'openai:small-model' }
  const compatible = { CHAT_MODEL: 'compatible:small-model', CHAT_BASE_URL: 'http://127.0.0.1:1' }
  for (const [variable, others] of [
    ['CHAT_PASSWORD', {}],
    ['DATABASE_PASSWORD', postgres],
    ['OPENAI_API_KEY', openai],
    ['CHAT_API_KEY', compatible],
  ] as const) {
    for (const [name, value] of [
      [variable, ''],
      [`${variable}_FILE`, ''],
      [`${variable}_FILE`, file],
    ] as const) {
      const answer = await run(['chat', '--port', '0'], { environment: { ...others, [name]: value } })
      expectRefusal(answer, { status: 2, reason: new RegExp(`^stockroom: (DATABASE_URL: )?${name}: it is empty`) })
    }
  }
})

test('a chat without a password warns when it starts, stores no sessions, and has no log-in page', async () => {
  await using server = await startChatServer()
  const { chat, databaseUrl, model, service } = server
  expect(service.output()).toContain(OPEN)
  const { status, headers, text } = await chat.get('/', { headers: { Accept: 'text/html' } })
  expect(status).toBe(200)
  expect(headers.get('Set-Cookie')).toBe(null)
  expect(text).not.toContain('Log out')
  expect((await chat.get('/login')).status).toBe(404)
  expect((await chat.get('/logout', { method: 'POST' })).status).toBe(404)
  await chat.post('free', 'Hello')
  const listener = chat.listen('free')
  await (await model.nextCall()).answer('Hello to you.')
  await listener.end()
  expect(await sqlite.read<object>(databaseUrl, 'SELECT 1 FROM chat_secret')).toEqual([])
  expect(await sqlite.read<object>(databaseUrl, 'SELECT 1 FROM chat_spending')).toEqual([])
})
