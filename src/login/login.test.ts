import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { Hono } from 'hono'
import { bearer } from '../../test/harness/catalog/keyed-shop.ts'
import { cookieOf, logIn } from '../../test/harness/chat/login.ts'
import { LOOPBACK } from '../../test/harness/loopback.ts'
import { until } from '../../test/harness/until.ts'
import { digestOf, newSecret, type Scope } from '../access/key.ts'
import { KeyRing } from '../access/key-ring.ts'
import type { StoredKey } from '../access/repository.ts'
import { formLimit } from '../pages/form.ts'
import { finishApp } from '../server/app.ts'
import { listen } from '../server/listen.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import { Login } from './login.ts'
import type { ProtectedPages } from './protected-pages.ts'
import { addLogin, identifying } from './routes.ts'

const HTML = { Accept: 'text/html' }

const OFFICE: ProtectedPages = {
  loginPath: '/office/login',
  logoutPath: '/office/logout',
  isProtected: route => route.startsWith('/office/'),
  pageAt: path => (path === '/office/safe' ? path : '/office/'),
  realm: 'office',
  title: 'Office',
  heading: 'Log in to the office',
  ended: 'Your session has ended.',
  stylesheet: '/static/office.css',
  keptForm: null,
}

/** A public page, and an office behind a log-in with keys that may write. */
function startOffice(trustedProxies = 0) {
  const stored: StoredKey[] = []
  const keys = new KeyRing({ list: async () => [...stored] })
  const login = new Login({
    password: null,
    keys,
    secret: async () => Buffer.alloc(32, 7),
    cookieName: 'office',
    trustedProxies,
  })
  const app: App = new Hono(routing())
  app.use(formLimit())
  addLogin(app, login, OFFICE)
  app.get('/', context => context.text('anyone'))
  for (const path of ['/office/', '/office/safe'])
    app.get(path, context => context.text(`${context.env.key?.scope} key`))
  app.post('/office/safe', context => context.text('changed'))
  finishApp(app)
  const server = listen({
    app: { fetch: app.fetch, routes: app.routes, identify: identifying(login, OFFICE) },
    ...LOOPBACK,
  })
  return {
    address: server.address,
    get: (path: string, request: RequestInit = {}) => fetch(server.address + path, { redirect: 'manual', ...request }),
    logIn: (password: string) =>
      fetch(`${server.address}/office/login`, {
        method: 'POST',
        body: new URLSearchParams({ password, next: '/office/safe' }),
        redirect: 'manual',
      }),
    createKey: (scope: Scope) => {
      const secret = newSecret()
      stored.push({ name: scope, scope, digest: digestOf(secret), createdAt: 0 })
      return secret
    },
    revokeKeys: () => stored.splice(0),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

test('pages behind a log-in have their own paths, cookie and texts, and pages beside them stay open', async () => {
  await using office = startOffice()
  expect(await (await office.get('/')).text()).toBe('anyone')
  expect((await office.get('/office/')).status).toBe(401)
  const led = await office.get('/office/safe', { headers: HTML })
  expect(led.status).toBe(303)
  expect(led.headers.get('Location')).toBe('/office/login?next=%2Foffice%2Fsafe')
  const form = await (await office.get('/office/login')).text()
  expect(form).toContain('<h1>Log in to the office</h1>')
  expect(form).toContain('action="/office/login"')
  expect(form).toContain('<label for="password">Access key</label>')
  const sent = await office.get('/office/safe', { method: 'POST', headers: HTML })
  expect(sent.headers.get('Location')).toBe('/office/login?ended&next=%2Foffice%2Fsafe')
  expect((await office.get('/office/nothing', { headers: HTML })).status).toBe(404)
})

test('a key with the scope opens the pages until it is revoked, and another key does not', async () => {
  await using office = startOffice()
  const reader = office.createKey('read')
  const refused = await office.logIn(reader)
  expect(refused.status).toBe(401)
  expect(refused.headers.get('WWW-Authenticate')).toBe('Bearer realm="office"')
  expect(await refused.text()).toContain('That is not an access key with the scope write.')
  const forbidden = await office.get('/office/', { headers: bearer(reader) })
  expect([forbidden.status, forbidden.headers.get('Cache-Control')]).toEqual([403, 'no-store'])
  expect(forbidden.headers.get('WWW-Authenticate')).toContain('realm="office", error="insufficient_scope"')
  // With blanks that were copied along.
  const response = await office.logIn(` ${office.createKey('admin')} `)
  const location = response.headers.get('Location') ?? ''
  expect(location).toBe('/office/login?done&next=%2Foffice%2Fsafe')
  expect(response.headers.get('Set-Cookie')).toMatch(
    /^office=key-\S+; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  const session = cookieOf(response)
  expect((await office.get(location, { headers: session })).headers.get('Location')).toBe('/office/safe')
  expect(await (await office.get(location)).text()).toContain('Your browser has not kept the session.')
  expect(await (await office.get('/office/', { headers: session })).text()).toBe('admin key')
  const left = await office.get('/office/logout', { method: 'POST', headers: session })
  expect(left.headers.get('Location')).toBe('/office/login')
  expect(left.headers.get('Set-Cookie')).toStartWith('office=; Max-Age=0;')
  office.revokeKeys()
  await until(async () => (await office.get('/office/', { headers: session })).status === 401)
})

test('behind more proxies than wrote the protocol, the outermost of them tells that the connection is secure', async () => {
  await using office = startOffice(2)
  const cookieAfter = async (protocol: string) => {
    const response = await logIn(`${office.address}/office`, office.createKey('write'), {
      headers: { 'X-Forwarded-Proto': protocol },
    })
    return response.headers.get('Set-Cookie')
  }
  expect(await cookieAfter('https')).toMatch(/^__Host-office=.*; Secure;/)
  expect(await cookieAfter('HTTPS, http')).toMatch(/^__Host-office=.*; Secure;/)
  expect(await cookieAfter('http, https')).toStartWith('office=')
})

test('large forms of all requests are bounded together, and nobody is kept from logging in by them', async () => {
  await using office = startOffice()
  const write = office.createKey('write')
  const large = async () => (await office.logIn('x'.repeat(100_000))).status
  using open = new DisposableStack()
  for (let count = 0; count < 64; count += 1) open.defer(beginForm(office.address, 1_048_576))
  await until(async () => (await large()) === 503)
  expect((await office.logIn(write)).status).toBe(303)
  open.dispose()
  await until(async () => (await large()) !== 503)
})

test('a form whose length is not declared is read, too, up to the same limit', async () => {
  await using office = startOffice()
  const logIn = (password: string) =>
    office.get('/office/login', {
      method: 'POST',
      // A stream that no file or text is behind.
      body: new Blob([`password=${password}`]).stream().pipeThrough(new TransformStream()),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    })
  expect((await logIn(office.createKey('write'))).status).toBe(303)
  const large = await logIn('x'.repeat(1_100_000))
  expect(large.status).toBe(413)
  expect(await large.json()).toEqual({ detail: 'The body is larger than 1048576 bytes' })
})

test('a form with more fields than any page has is refused before they are parsed', async () => {
  await using office = startOffice()
  const send = (fields: number, type = 'application/x-www-form-urlencoded') =>
    office.get('/office/login', {
      method: 'POST',
      body: `${'a&'.repeat(fields - 1)}password=${office.createKey('write')}`,
      headers: { 'Content-Type': type },
    })
  expect((await send(10_000)).status).toBe(303)
  for (const type of [undefined, 'multipart/form-data; boundary=application/x-www-form-urlencoded']) {
    const refused = await send(10_001, type)
    expect(refused.status).toBe(413)
    expect(await refused.json()).toEqual({ detail: 'The form has more than 10000 fields' })
  }
})

/** Sends the beginning of a form. Returns the function that hangs up. */
function beginForm(address: string, length: number): () => void {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(
    `POST /office/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${length}\r\n\r\npassword=`,
  )
  return () => socket.destroy()
}
