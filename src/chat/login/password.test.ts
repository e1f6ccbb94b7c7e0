import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { from, startChatApp } from '../../../test/harness/chat/chat-app.ts'
import { cookieOf, logIn } from '../../../test/harness/chat/login.ts'
import { withEachEngine } from '../../../test/harness/contract.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const PASSWORD = 'correct horse battery'
const PAGE = { Accept: 'text/html,application/xhtml+xml' }
const ATTEMPTS_MAX = 10
const TOTAL_ATTEMPTS_MAX = 30

type ChatApp = Awaited<ReturnType<typeof startChatApp>>

withEachEngine('a chat with a password', engine => {
  let app: ChatApp
  beforeAll(async () => {
    app = await startChatApp(engine, { password: PASSWORD })
  })
  afterAll(() => app[Symbol.asyncDispose]())

  const logInAs = (address: string, password = PASSWORD, fields: Record<string, string> = {}) =>
    logIn(app.chat.address, password, { fields, headers: from(address) })

  /** The page that a browser which keeps cookies is led to. */
  async function pageAfter(loggedIn: Response): Promise<string> {
    const location = loggedIn.headers.get('Location') ?? ''
    expect(location).toStartWith('/login?done&next=')
    return (await app.chat.get(location, { headers: cookieOf(loggedIn) })).headers.get('Location') ?? ''
  }

  test('without a session, every page leads to the log-in page and back to where it was', async () => {
    for (const [path, next] of [
      ['/', '/'],
      ['/chat/some-turn', '/chat/some-turn'],
      ['/chat/some-turn/answer', '/chat/some-turn'],
    ] as const) {
      const { status, headers } = await app.chat.get(path, { headers: PAGE })
      const location = headers.get('Location') ?? ''
      expect({ path, status, location }).toEqual({
        path,
        status: 303,
        location: `/login?next=${encodeURIComponent(next)}`,
      })
      expect(headers.get('Cache-Control')).toBe('no-store')
      expect((await app.chat.get(location, { headers: PAGE })).text).toContain(`name="next" value="${next}"`)
      expect(await pageAfter(await logInAs('203.0.113.1', PASSWORD, { next }))).toBe(next)
    }
  })

  test('without a session, streams, scripts and programs get 401, and htmx is sent to the log-in page', async () => {
    const requests: [path: string, request: RequestInit][] = [
      ['/', {}],
      ['/chatstream/some-turn', { headers: { Accept: 'text/event-stream' } }],
      ['/chat/some-turn/status', {}],
      ['/chat/some-turn/stop', { method: 'POST' }],
      ['/chat/some-turn', { method: 'POST', body: new URLSearchParams({ user_prompt: 'Hello' }) }],
    ]
    for (const [path, request] of requests) {
      const { status, headers, text } = await app.chat.get(path, request)
      expect({ path, status, text }).toEqual({ path, status: 401, text: '{"detail":"Log in first"}' })
      expect(headers.get('Cache-Control')).toBe('no-store')
      expect(headers.get('WWW-Authenticate')).toBe('Bearer realm="chat"')
    }
    const { status, headers } = await app.chat.get('/chat/next', {
      method: 'POST',
      body: new URLSearchParams({ user_prompt: 'Hello' }),
      headers: { 'HX-Request': 'true', 'HX-Current-URL': 'http://chat.example/chat/some-turn?x=1' },
    })
    expect(status).toBe(401)
    expect(headers.get('HX-Redirect')).toBe('/login?ended&next=%2Fchat%2Fsome-turn')
    expect(app.model.calls).toEqual([])
  })

  test('health, static files and the log-in page need no session, and other paths are not there', async () => {
    expect((await app.chat.get('/no-such-page')).status).toBe(404)
    for (const path of ['/healthz', '/health', '/readyz', '/login', '/static/chat.js', '/static/page.css']) {
      expect((await app.chat.get(path)).status, path).toBe(200)
    }
  })

  test('a session opens everything: a prompt, its stream, its page, and the way out', async () => {
    const response = await logInAs('203.0.113.2')
    expect(response.status).toBe(303)
    const session = cookieOf(response)
    const page = await app.chat.get('/', { headers: session })
    expect({ status: page.status, text: page.text }).toEqual({
      status: 200,
      text: expect.stringContaining('action="/logout"'),
    })
    expect((await app.chat.post('mine', 'Hello', session)).status).toBe(200)
    const listener = app.chat.listen('mine', session)
    await (await app.model.nextCall()).answer('Hello to you.')
    expect(await listener.end()).toContain('Hello to you.')
    expect((await app.chat.get('/login?next=/chat/mine', { headers: session })).headers.get('Location')).toBe(
      '/chat/mine',
    )
    const left = await app.chat.get('/logout', { method: 'POST', headers: session })
    expect(left.status).toBe(303)
    expect(left.headers.get('Location')).toBe('/login')
    expect(left.headers.get('Set-Cookie')).toMatch(/^stockroom-chat=; Max-Age=0; Path=\/;/)
  })

  test('programs may send the password with each request instead', async () => {
    const authorization = { Authorization: `Bearer ${PASSWORD}` }
    expect((await app.chat.get('/', { headers: authorization })).status).toBe(200)
    expect((await app.chat.get('/', { headers: { Authorization: 'Bearer wrong password' } })).status).toBe(401)
    expect((await app.chat.get('/', { headers: { Authorization: `Basic ${btoa(`:${PASSWORD}`)}` } })).status).toBe(401)
  })

  test('the cookie is for this server alone, and over https it has a prefix that says so', async () => {
    const plain = (await logInAs('203.0.113.3')).headers.get('Set-Cookie')
    expect(plain).toMatch(
      /^stockroom-chat=password\.\d+\.[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
    )
    const https = { 'X-Forwarded-Proto': 'https' }
    const secure = await logIn(app.chat.address, PASSWORD, { headers: https })
    expect(secure.headers.get('Set-Cookie')).toMatch(
      /^__Host-stockroom-chat=password\.\d+\.[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    )
    const cookie = cookieOf(secure)
    expect((await app.chat.get('/', { headers: { ...cookie, ...https } })).status).toBe(200)
    // Without the prefix, another host of the domain may have set it.
    const withoutPrefix = { Cookie: cookie.Cookie.replace('__Host-', '') }
    expect((await app.chat.get('/', { headers: { ...withoutPrefix, ...https } })).status).toBe(401)
  })

  test('a forged session is refused: another holder, a later end, another signature, none', async () => {
    const { Cookie } = cookieOf(await logInAs('203.0.113.4'))
    const [, end = '', signature = ''] = /^stockroom-chat=password\.(\d+)\.(.*)$/.exec(Cookie) ?? []
    const swapped = (signature.startsWith('A') ? 'B' : 'A') + signature.slice(1)
    for (const session of [
      `password.${Number(end) + 1}.${signature}`,
      `passwords.${end}.${signature}`,
      `password.${end}.${swapped}`,
      `password.${end}.`,
      `password.${end}`,
      `password.${end}.${'A'.repeat(43)}`,
      '',
      '%',
      'x'.repeat(8_000),
    ]) {
      const { status } = await app.chat.get('/', { headers: { Cookie: `stockroom-chat=${session}` } })
      expect({ session, status }).toEqual({ session, status: 401 })
    }
    expect((await app.chat.get('/', { headers: { Cookie } })).status).toBe(200)
  })

  test('a wrong password is refused, whatever is wrong with it, and ten of one address in a minute are the most', async () => {
    const wrong = ['', 'x', `${PASSWORD} `, PASSWORD.toUpperCase(), 'é'.repeat(400), '\0', PASSWORD.slice(1)]
    const address = '203.0.113.5'
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const response = await logInAs(address, wrong[attempt % wrong.length])
      expect(response.status).toBe(401)
      expect(response.headers.get('Set-Cookie')).toBe(null)
      expect(await response.text()).toContain('That is not the password.')
    }
    const refused = await logInAs(address)
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('Retry-After'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(await refused.text()).toContain(`Try again in ${seconds} seconds.`)
    expect(
      (await app.chat.get('/', { headers: { ...from(address), Authorization: `Bearer ${PASSWORD}` } })).status,
    ).toBe(429)
    expect((await logInAs('203.0.113.6')).status).toBe(303)
  })

  test('of two session cookies, the good one counts, wherever it stands', async () => {
    const { Cookie } = cookieOf(await logInAs('203.0.113.7'))
    for (const cookies of [`stockroom-chat=bad; ${Cookie}`, `${Cookie}; stockroom-chat=bad`]) {
      expect((await app.chat.get('/', { headers: { Cookie: cookies } })).status).toBe(200)
    }
    const many = `${'stockroom-chat=bad; '.repeat(100)}${Cookie}`
    expect((await app.chat.get('/', { headers: { Cookie: many } })).status).toBe(401)
  })

  test('wrong passwords are limited in all, too: nobody guesses from many networks', async () => {
    await using guessed = await startChatApp(engine, { password: PASSWORD })
    const statuses: number[] = []
    for (let network = 1; network <= 40; network += 1) {
      const response = await logIn(guessed.chat.address, 'a wrong password', {
        headers: from(`2001:db8:0:${network}::1`),
      })
      statuses.push(response.status)
    }
    expect(statuses).toEqual([...Array(TOTAL_ATTEMPTS_MAX).fill(401), ...Array(40 - TOTAL_ATTEMPTS_MAX).fill(429)])
    const refused = await logIn(guessed.chat.address, PASSWORD, {
      fields: { user_prompt: 'What I have typed' },
      headers: from('203.0.113.8'),
    })
    expect([refused.status, refused.headers.get('Cache-Control')]).toEqual([429, 'no-store'])
    expect(await refused.text()).toContain('What I have typed')
  })

  test('the log-in leads nowhere but into the chat', async () => {
    for (const next of [
      '//evil.example/',
      '/\\evil.example',
      'https://evil.example/',
      'javascript:alert(1)',
      '/.//evil.example',
      '/\t/evil.example',
      '/chat/../../evil.example',
      '/chat//evil.example',
      '/chat/..%2f..',
      '/logout',
      '/static/../x',
      '/chat/x\r\nSet-Cookie: a=b',
      '',
    ]) {
      const location = await pageAfter(await logInAs('203.0.113.7', PASSWORD, { next }))
      expect(location, next).toMatch(/^\/(chat\/[^/?#\\\s]+)?$/)
      expect(new URL(location, 'http://chat.example').origin, next).toBe('http://chat.example')
    }
  })

  test('a page of another origin can neither log in nor out', async () => {
    const headers = { ...from('203.0.113.8'), Origin: 'https://evil.example' }
    expect((await logIn(app.chat.address, PASSWORD, { headers })).status).toBe(403)
    expect((await app.chat.get('/logout', { method: 'POST', headers })).status).toBe(403)
  })

  test('a prompt that is sent without a session, and without scripts, goes along to the log-in and comes back', async () => {
    const typed = '\n"two\nlines" <b>&amp;</b>'
    const { status, page } = await app.chat.post('lost', typed.replaceAll('\n', '\r\n'), PAGE)
    expect(status).toBe(401)
    expect(page).toContain('Your session has ended.')
    const escaped = '\n\n&quot;two\nlines&quot; &lt;b&gt;&amp;amp;&lt;/b&gt;</textarea>'
    expect(page).toContain(`name="user_prompt" hidden="">${escaped}`)
    const again = await logInAs('203.0.113.9', 'wrong password', { user_prompt: typed })
    expect(await again.text()).toContain(`name="user_prompt" hidden="">${escaped}`)
    const back = await logInAs('203.0.113.9', PASSWORD, { user_prompt: typed })
    expect(back.status).toBe(200)
    expect(cookieOf(back).Cookie).toStartWith('stockroom-chat=password.')
    const form = await back.text()
    expect(form).toContain('id="composer"')
    expect(form).toContain(escaped)
    expect((await app.chat.get('/chat/lost', { headers: cookieOf(back) })).status).toBe(404)
  })

  test('a log-in form that is too large, or encoded, is refused', async () => {
    const large = await logInAs('203.0.113.10', 'x'.repeat(1_100_000))
    expect(large.status).toBe(413)
    const encoded = { ...from('203.0.113.10'), 'Content-Encoding': 'gzip' }
    expect((await logIn(app.chat.address, PASSWORD, { headers: encoded })).status).toBe(415)
    const prompt = await app.chat.post('lost', 'x'.repeat(1_100_000), PAGE)
    expect(prompt.status).toBe(413)
  })

  test('a password of nothing but combining marks is refused at once, as any other that is wrong', async () => {
    const body = new FormData()
    // To normalize these marks as one text, the server would need a minute.
    body.set('password', '\u0315'.repeat(80_000) + '\u0300'.repeat(80_000))
    const { status } = await app.chat.get('/login', { method: 'POST', body, headers: from('203.0.113.70') })
    expect(status).toBe(401)
  }, 20_000)

  test('an address that a proxy cannot vouch for does not make the connection secure', async () => {
    const headers = { 'X-Forwarded-Proto': 'https, http' }
    const cookie = (await logIn(app.chat.address, PASSWORD, { headers })).headers.get('Set-Cookie')
    expect(cookie).not.toContain('Secure')
  })

  test('a session ends after its time, however much it is used', async () => {
    await using short = await startChatApp(engine, { password: PASSWORD, sessionSeconds: 2 })
    let session = {}
    // If the machine pauses, a session may end before it is used.
    await until(async () => {
      const response = await logIn(short.chat.address, PASSWORD)
      expect(response.headers.get('Set-Cookie')).toContain('Max-Age=2;')
      session = cookieOf(response)
      return (await short.chat.get('/', { headers: session })).status === 200
    })
    while ((await short.chat.get('/', { headers: session })).status === 200) await Bun.sleep(100)
    expect((await short.chat.get('/', { headers: session })).status).toBe(401)
    expect((await short.chat.get('/', { headers: { ...session, ...PAGE } })).status).toBe(303)
  })

  test('a composed and a decomposed accent are the same password', async () => {
    await using accents = await startChatApp(engine, { password: 'caf\u00e9 au lait' })
    expect((await logIn(accents.chat.address, 'cafe\u0301 au lait')).status).toBe(303)
  })

  test('programs may send a password with letters beyond ASCII in UTF-8 or, if it has them, in Latin-1', async () => {
    for (const [password, encodings] of [
      ['naïve café', ['utf8', 'latin1']],
      ['пароль 🌱', ['utf8']],
    ] as const) {
      await using app = await startChatApp(engine, { password })
      const statusOf = async (sent: string) =>
        (await app.chat.get('/', { headers: { Authorization: `Bearer ${sent}` } })).status
      for (const encoding of encodings) {
        // The client sends a character of a header as one byte.
        const bytes = Buffer.from(password, encoding).toString('latin1')
        expect(await statusOf(bytes), `${password} in ${encoding}`).toBe(200)
        expect(await statusOf(bytes.slice(0, -1)), `less than ${password} in ${encoding}`).toBe(401)
      }
    }
  })
})
