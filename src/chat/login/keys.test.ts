import { expect, setDefaultTimeout, test } from 'bun:test'
import { bearer, createKey, revokeKey } from '../../../test/harness/catalog/keyed-shop.ts'
import { chatInBrowser } from '../../../test/harness/chat/chat-in-browser.ts'
import { send } from '../../../test/harness/chat/chat-page.ts'
import { startChatServer } from '../../../test/harness/chat/chat-server.ts'
import { cookieOf, logIn, logInAt } from '../../../test/harness/chat/login.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const PASSWORD = 'correct horse battery'

/** `stockroom_` and 43 characters, as every key, but nobody's. */
const UNKNOWN = `stockroom_${'x'.repeat(43)}`

const place = chatInBrowser(() => startChatServer(sqlite, { environment: { AUTH: 'keys', CHAT_ANSWERS_PER_DAY: '1' } }))

withEachEngine('a chat with access keys', engine => {
  test('a key that may write opens the chat, by a session or with each request; another does not', async () => {
    await using server = await startChatServer(engine, { environment: { AUTH: 'keys' } })
    const { chat, databaseUrl } = server
    const reader = await createKey(databaseUrl, 'reader', 'read')
    for (const scope of ['write', 'admin'] as const) {
      const key = await createKey(databaseUrl, `may-${scope}`, scope)
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
    await using server = await startChatServer(engine, { environment: { AUTH: 'keys' } })
    const other = await server.startAnother()
    const key = await createKey(server.databaseUrl, 'visitor', 'write')
    const session = cookieOf(await logIn(server.chat.address, key))
    expect((await other.chat.get('/', { headers: session })).status).toBe(200)
    await revokeKey(server.databaseUrl, 'visitor')
    const again = await createKey(server.databaseUrl, 'visitor', 'write')
    for (const { chat } of [server, other]) {
      await until(async () => (await chat.get('/', { headers: session })).status === 401)
      expect((await chat.get('/', { headers: bearer(again) })).status).toBe(200)
    }
  })

  test('a password opens the chat beside keys, and many unknown keys do not keep it from doing so', async () => {
    await using server = await startChatServer(engine, { environment: { AUTH: 'keys', CHAT_PASSWORD: PASSWORD } })
    const { chat } = server
    for (let attempt = 0; attempt < 12; attempt += 1) expect((await logIn(chat.address, UNKNOWN)).status).toBe(401)
    const wrong = await (await logIn(chat.address, 'wrong password')).text()
    expect(wrong).toContain('That is neither the password nor an access key with the scope write.')
    const key = await createKey(server.databaseUrl, 'visitor', 'write')
    for (const credential of [PASSWORD, key]) {
      const response = await logIn(chat.address, credential)
      expect(response.status).toBe(303)
      expect((await chat.get('/', { headers: cookieOf(response) })).status).toBe(200)
      expect((await chat.get('/', { headers: { Authorization: `Bearer ${credential}` } })).status).toBe(200)
    }
  })

  test('the bounds per day are those of the key, wherever it is used', async () => {
    const environment = { AUTH: 'keys', CHAT_ANSWERS_PER_DAY: '1', TRUSTED_PROXIES: '1' }
    await using server = await startChatServer(engine, { environment })
    const { chat, databaseUrl } = server
    const mine = await createKey(databaseUrl, 'mine', 'write')
    const theirs = await createKey(databaseUrl, 'theirs', 'write')
    const from = (key: string, address: string) => ({ ...bearer(key), 'X-Forwarded-For': address })
    await chat.post('first', 'Hello', from(mine, '203.0.113.1'))
    const listener = chat.listen('first', from(mine, '203.0.113.1'))
    await (await server.model.nextCall()).answer('Hello to you.')
    await listener.end()
    const refused = await chat.post('second', 'Hello', from(mine, '203.0.113.2'))
    expect(refused.status).toBe(429)
    expect(refused.page).toContain('Your key has reached its daily limit of 1 answer.')
    const session = cookieOf(await logIn(chat.address, mine))
    expect((await chat.post('second', 'Hello', session)).status).toBe(429)
    expect((await chat.post('second', 'Hello', from(theirs, '203.0.113.1'))).status).toBe(200)
    expect(await engine.read<object>(databaseUrl, 'SELECT account FROM chat_spending')).toEqual([
      { account: 'key:mine' },
    ])
  })
})

test('a user logs in with a key, follows a link of another site, and is told when the key has reached its bound', async () => {
  const { server, browser } = place
  const key = await createKey(server.databaseUrl, 'visitor', 'write')
  await using tab = await browser.openTab()
  const { page } = tab
  await page.goto(server.chat.address)
  await page.getByLabel('Access key').waitFor()
  await logInAt(page, key)
  await (await send(page, 'first', server)).answer('The first answer.')
  await page.getByText('The first answer.').waitFor()
  await page.locator('#chat:not([sse-connect])').waitFor({ state: 'attached' })
  const turn = page.url()
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(`<a href="${turn}">the chat</a>`, { headers: { 'Content-Type': 'text/html' } }),
  })
  await page.goto(`http://localhost:${site.port}`)
  await page.getByRole('link').click()
  await page.getByText('The first answer.').waitFor()
  await page.waitForLoadState()
  await site.stop(true)
  await page.getByLabel('Your message').fill('second')
  await page.getByLabel('Your message').press('Enter')
  await page.getByText('Your key has reached its daily limit of 1 answer.').waitFor()
})
