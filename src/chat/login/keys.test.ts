import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { bearer, revokeKey } from '../../../test/harness/catalog/keyed-shop.ts'
import { type ChatServer, startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { cookieOf, logIn } from '../../../test/harness/chat/login.ts'
import { awayFromMidnight } from '../../../test/harness/chat/midnight.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { storeKey } from '../../../test/harness/stored-keys.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)
beforeEach(awayFromMidnight)

const PASSWORD = 'correct horse battery'

/** `stockroom_` and 43 characters, as every key, but nobody's. */
const UNKNOWN = `stockroom_${'x'.repeat(43)}`

withEachEngine('a chat with access keys', engine => {
  /** Each test has keys of its own. */
  let server: ChatServer
  beforeAll(async () => {
    const environment = { AUTH: 'keys', CHAT_ANSWERS_PER_DAY: '2', TRUSTED_PROXIES: '1' }
    server = await startChatServer(engine, { environment })
  })
  afterAll(() => server[Symbol.asyncDispose]())

  test('a key that may write opens the chat, by a session or with each request; another does not', async () => {
    const { chat, databaseUrl, service } = server
    expect(service.output()).not.toContain('anyone who can reach it may use it')
    const reader = await storeKey(databaseUrl, 'reader', 'read')
    for (const scope of ['write', 'admin'] as const) {
      const key = await storeKey(databaseUrl, `may-${scope}`, scope)
      const response = await logIn(chat.address, key)
      expect(response.status).toBe(303)
      const session = cookieOf(response)
      expect(session.Cookie).not.toContain(key)
      for (const headers of [session, bearer(key)]) {
        expect((await chat.get('/', { headers })).status).toBe(200)
        const reqId = crypto.randomUUID()
        expect((await chat.post(reqId, 'Hello', headers)).status).toBe(200)
        const listener = chat.listen(reqId, headers)
        await (await server.model.nextCall()).answer('Hello to you.')
        expect(await listener.end()).toContain('Hello to you.')
      }
    }
    const refused = await chat.get('/', { headers: bearer(reader) })
    expect(refused.status).toBe(403)
    expect(refused.headers.get('WWW-Authenticate')).toContain('error="insufficient_scope", scope="write"')
    for (const wrong of [reader, UNKNOWN, 'something else']) {
      const response = await logIn(chat.address, wrong)
      expect(response.status).toBe(401)
      expect(await response.text()).toContain('That is not an access key with the scope write.')
    }
    expect((await chat.get('/', { headers: bearer(UNKNOWN) })).status).toBe(401)
    expect((await chat.get('/')).status).toBe(401)
  })

  test('a key that is revoked ends its sessions in every process, also if another key gets its name', async () => {
    const other = await server.startAnother()
    const key = await storeKey(server.databaseUrl, 'visitor', 'write')
    const session = cookieOf(await logIn(server.chat.address, key))
    expect((await other.chat.get('/', { headers: session })).status).toBe(200)
    await revokeKey(server.databaseUrl, 'visitor')
    const again = await storeKey(server.databaseUrl, 'visitor', 'write')
    for (const { chat } of [server, other]) {
      await until(async () => (await chat.get('/', { headers: session })).status === 401)
      expect((await chat.get('/', { headers: bearer(again) })).status).toBe(200)
    }
  })

  test('the bounds per day are those of the key, wherever it is used', async () => {
    const { chat, databaseUrl } = server
    const mine = await storeKey(databaseUrl, 'mine', 'write')
    const theirs = await storeKey(databaseUrl, 'theirs', 'write')
    const from = (key: string, address: string) => ({ ...bearer(key), 'X-Forwarded-For': address })
    for (const reqId of ['first', 'second']) {
      await chat.post(reqId, 'Hello', from(mine, '203.0.113.1'))
      const listener = chat.listen(reqId, from(mine, '203.0.113.1'))
      await (await server.model.nextCall()).answer('Hello to you.')
      await listener.end()
    }
    const refused = await chat.post('third', 'Hello', from(mine, '203.0.113.2'))
    expect(refused.status).toBe(429)
    expect(refused.page).toContain('Your key has reached its daily limit of 2 answers.')
    const session = cookieOf(await logIn(chat.address, mine))
    expect((await chat.post('third', 'Hello', session)).status).toBe(429)
    expect((await chat.post('third', 'Hello', from(theirs, '203.0.113.1'))).status).toBe(200)
    const accounts = await engine.read<{ account: string }>(databaseUrl, 'SELECT account FROM chat_spending')
    expect(accounts).toContainEqual({ account: 'key:mine' })
    expect(accounts.filter(({ account }) => !account.startsWith('key:'))).toEqual([])
  })
})

test('a password opens the chat beside keys, and many unknown keys do not keep it from doing so', async () => {
  await using server = await startChatServer(sqlite, { environment: { AUTH: 'keys', CHAT_PASSWORD: PASSWORD } })
  const { chat, service, databaseUrl } = server
  const command = `stockroom key create NAME --scope write --database ${databaseUrl}`
  await until(() => service.output().includes(`${command}\` creates one`))
  // Half of them with a blank that was copied along.
  for (let attempt = 0; attempt < 24; attempt += 1) {
    expect((await logIn(chat.address, UNKNOWN + ' '.repeat(attempt % 2))).status).toBe(401)
  }
  const wrong = await (await logIn(chat.address, 'wrong password')).text()
  expect(wrong).toContain('That is neither the password nor an access key with the scope write.')
  const key = await storeKey(databaseUrl, 'visitor', 'write')
  for (const credential of [PASSWORD, key]) {
    const response = await logIn(chat.address, credential)
    expect(response.status).toBe(303)
    expect((await chat.get('/', { headers: cookieOf(response) })).status).toBe(200)
    expect((await chat.get('/', { headers: { Authorization: `Bearer ${credential}` } })).status).toBe(200)
  }
})
