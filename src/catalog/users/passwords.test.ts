import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { ENGINES, type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** Every answer shows this in place of a password. */
const MASK = '**********'

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const NOT_FOUND = { detail: 'User not found' }

onEachEngine('passwords', api => {
  test('a password is masked in every answer: create, read, list, update, delete', async () => {
    const password = 'swordfish-of-the-sea'
    const created = await api.post('/users/', { ...sample.user, password })
    const id = await api.create('/users/', { ...sample.user, password })
    for (const answer of [
      created,
      await api.get(`/users/${id}`),
      await api.patch(`/users/${id}`, { ...sample.user, password }),
      await api.delete(`/users/${id}`),
    ]) {
      expect(answer.body).toMatchObject({ password: MASK })
      expect(JSON.stringify(answer.body)).not.toContain(password)
      expect(JSON.stringify(answer.body)).not.toContain('argon2')
    }
    const list = await api.get('/users/?limit=1000')
    expect(JSON.stringify(list.body)).not.toContain(password)
    expect(JSON.stringify(list.body)).not.toContain('argon2')
  })

  test('a review shows neither the password nor the e-mail address of its user', async () => {
    const user = { ...sample.user, email: 'secret@mail.example', password: 'swordfish-of-the-sea' }
    const userId = await api.create('/users/', user)
    const productId = await api.create('/products/', sample.product)
    const created = await api.post('/reviews/', sample.review(productId, userId))
    for (const { body } of [created, await api.get('/reviews/'), await api.get(`/reviews/users/${userId}`)]) {
      const text = JSON.stringify(body)
      expect(text).toContain(user.name)
      for (const hidden of [user.email, user.password, MASK, 'password', 'email']) expect(text).not.toContain(hidden)
    }
  })

  test('a password may be empty', async () => {
    const created = await api.post('/users/', { ...sample.user, password: '' })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({ password: MASK })
    const id = await api.create('/users/', sample.user)
    const updated = await api.patch(`/users/${id}`, { ...sample.user, password: '' })
    expect(updated.status).toBe(200)
    expect(updated.body).toMatchObject({ password: MASK })
  })

  test('a password may be of any length', async () => {
    for (const password of ['a', 'p'.repeat(1_000), '😀'.repeat(100_000)]) {
      const created = await api.post('/users/', { ...sample.user, password })
      expect(created.status).toBe(200)
      expect(created.body).toMatchObject({ password: MASK })
    }
  })

  test('a password may not be the mask when a user is created', async () => {
    const lastId = await api.create('/users/', sample.user)
    const answer = await api.post('/users/', { ...sample.user, password: MASK })
    expect(answer.status).toBe(422)
    expect(answer.body).toEqual({
      detail: [{ type: 'value_error', loc: ['body', 'password'], msg: expect.any(String) }],
    })
    expect((await api.get(`/users/?after_id=${lastId}`)).body).toEqual([])
  })

  test('a password that only resembles the mask is like any other', async () => {
    for (const password of ['*********', '***********', ' **********', '********** ']) {
      expect((await api.post('/users/', { ...sample.user, password })).status, password).toBe(200)
    }
  })

  test('a password that is the mask is reported together with all other errors of a create', async () => {
    const answer = await api.post('/users/', { ...sample.user, name: 'ab', password: MASK, is_admin: 'yes' })
    expect(answer.body).toMatchObject({
      detail: [
        { type: 'string_too_short', loc: ['body', 'name'] },
        { type: 'value_error', loc: ['body', 'password'] },
        { type: 'int_type', loc: ['body', 'is_admin'] },
      ],
    })
  })

  test('a password may be the mask in an update, and must be sent like the other fields', async () => {
    const id = await api.create('/users/', sample.user)
    expect((await api.patch(`/users/${id}`, { ...sample.user, password: MASK })).status).toBe(200)
    const { password: _, ...rest } = sample.user
    const without = await api.patch(`/users/${id}`, { ...rest, name: 'Ada Marble' })
    expect(without.status).toBe(422)
    expect(without.body).toEqual({
      detail: [{ type: 'missing', loc: ['body', 'password'], msg: 'Field required' }],
    })
    expect((await api.get(`/users/${id}`)).body).toMatchObject({ name: sample.user.name })
  })
})

for (const engine of ENGINES) {
  describe(`stored passwords, on ${engine.name}`, () => {
    let shop: Shop
    beforeAll(async () => {
      shop = await startShop(engine)
    })
    afterAll(() => shop[Symbol.asyncDispose]())

    test('a password is stored as an argon2id hash alone', async () => {
      const password = 'swordfish-of-the-sea'
      const id = await shop.api.create('/users/', { ...sample.user, password })
      const hash = await shop.storedHash(id)
      // OWASP's parameters.
      expect(hash).toStartWith('$argon2id$v=19$m=19456,t=2,')
      expect(await Bun.password.verify(password, hash)).toBe(true)
      // The access log is in the order of requests: after this line, everything about the user has been printed.
      await shop.api.get('/printed')
      await until(() => shop.printed().includes('/printed'))
      const bytes = await shop.everything()
      expect(bytes).toContain(hash)
      expect(bytes).not.toContain(password)
      expect(shop.printed()).not.toContain(password)
    })

    test('two users with the same password have different hashes', async () => {
      const first = await shop.api.create('/users/', sample.user)
      const second = await shop.api.create('/users/', sample.user)
      expect(await shop.storedHash(second)).not.toBe(await shop.storedHash(first))
    })

    test('an empty password is stored as a hash too', async () => {
      const id = await shop.api.create('/users/', { ...sample.user, password: '' })
      expect(await shop.storedHash(id)).toStartWith('$argon2id$')
    })

    test('an update with the mask keeps the stored password', async () => {
      const id = await shop.api.create('/users/', sample.user)
      const before = await shop.storedHash(id)
      const updated = await shop.api.patch(`/users/${id}`, { ...sample.user, name: 'Ada Marble', password: MASK })
      expect(updated.body).toMatchObject({ name: 'Ada Marble' })
      expect(await shop.storedHash(id)).toBe(before)
    })

    test('an update with another password stores that one', async () => {
      const id = await shop.api.create('/users/', sample.user)
      await shop.api.patch(`/users/${id}`, { ...sample.user, password: 'another' })
      const hash = await shop.storedHash(id)
      expect(hash).toStartWith('$argon2id$')
      expect(await Bun.password.verify('another', hash)).toBe(true)
      expect(await Bun.password.verify(sample.user.password, hash)).toBe(false)
    })

    test('a refused update keeps the stored password', async () => {
      const id = await shop.api.create('/users/', sample.user)
      const before = await shop.storedHash(id)
      const refused = await shop.api.patch(`/users/${id}`, { ...sample.user, name: 'ab', password: 'another' })
      expect(refused.status).toBe(422)
      expect(await shop.storedHash(id)).toBe(before)
    })

    test('updating a user that does not exist waits for no password hash', async () => {
      await until(async () => {
        const leaving = new AbortController()
        let created = 0
        const creates = Array.from({ length: 24 }, async () => {
          await post(`${shop.api.address()}/users/`, sample.user, leaving.signal)
          created += 1
        })
        await Promise.race(creates)
        expect((await shop.api.patch(`/users/${ABSENT_ID}`, { ...sample.user, password: 'another' })).body).toEqual(
          NOT_FOUND,
        )
        // Passwords are hashed in the order of their requests, so one of the update would always have been the last. If the
        // machine pauses, the update may be sent after all.
        const isEarly = created < creates.length
        leaving.abort()
        await Promise.allSettled(creates)
        return isEarly
      })
    })
  })
}

describe('passwords that wait to be hashed', () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await startShop(sqlite)
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('passwords of clients that have left are not hashed', async () => {
    const before = await shop.count('users')
    const abandoned = 30
    for (let count = 0; count < abandoned; count++) await postAndLeave(shop.api.address(), '/users/', sample.user)
    expect(await whenFree(() => shop.api.post('/users/', sample.user))).toBe(200)
    // Those already being hashed are stored.
    expect((await shop.count('users')) - before).toBeLessThan(abandoned / 2)
  })

  test('a user is turned away while too many passwords wait to be hashed, and accepted when they are done', async () => {
    const leaving = new AbortController()
    const answers = Array.from({ length: 250 }, () => post(`${shop.api.address()}/users/`, sample.user, leaving.signal))
    const refused = await firstWith(503, answers)
    expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect(await refused.json()).toEqual({ detail: 'Too many passwords are waiting to be hashed' })
    await firstWith(200, answers)
    leaving.abort()
    await Promise.allSettled(answers)
    expect(await whenFree(() => shop.api.post('/users/', sample.user))).toBe(200)
    expect(shop.printed()).not.toContain('"level":"error"')
  })

  test('a client that leaves while the hash for its masked user is queued fails no later one', async () => {
    const address = `${shop.api.address()}/users/`
    const masked = (signal: AbortSignal) =>
      post(address, { ...sample.user, password: MASK }, signal, 'application/x-ndjson')
    const leaving = new AbortController()
    const stays = new AbortController().signal
    const creates = Array.from({ length: 8 }, () => post(address, sample.user, stays))
    const left = masked(leaving.signal).catch(() => null)
    await firstWith(200, creates)
    leaving.abort()
    await left
    await Promise.all(creates)
    expect(await whenFree(() => masked(stays))).toBe(200)
  })
})

function post(url: string, body: unknown, signal: AbortSignal, type = 'application/json'): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': type },
    body: JSON.stringify(body),
    signal,
  })
}

function firstWith(status: number, answers: readonly Promise<Response>[]): Promise<Response> {
  return Promise.any(
    answers.map(async answer => {
      const response = await answer
      if (response.status !== status) throw new Error(`answered ${response.status}`)
      return response
    }),
  )
}

/**
 * The status of the first answer that is not 503. On a loaded machine, a hash may take so long that a few passwords are too many,
 * and the service learns late that clients have left.
 */
async function whenFree(send: () => Promise<{ readonly status: number }>): Promise<number> {
  let status = 503
  await until(async () => {
    status = (await send()).status
    return status !== 503
  })
  return status
}

/** Sends a whole request and leaves before the answer. */
function postAndLeave(address: string, path: string, body: unknown): Promise<void> {
  const { hostname, port, host } = new URL(address)
  const text = JSON.stringify(body)
  const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`
  const left = Promise.withResolvers<void>()
  const socket = connect(Number(port), hostname, () => socket.end(`${head}\r\n\r\n${text}`, () => socket.destroy()))
  socket.on('error', left.reject)
  socket.on('close', () => left.resolve())
  return left.promise
}

type Shop = Awaited<ReturnType<typeof startShop>>

/** A service whose database the test can read. */
async function startShop(engine: Engine) {
  const open = new AsyncDisposableStack()
  const database = open.use(await engine.freshDatabase())
  const service = open.use(await startService(database.url))
  return {
    api: client(() => service.address),
    printed: () => service.output() + service.errors(),
    storedHash: async (id: number): Promise<string> => {
      const [row] = await engine.read<{ hash: string }>(
        database.url,
        `SELECT password_hash AS hash FROM users WHERE id = ${id}`,
      )
      return row?.hash ?? ''
    },
    count: async (table: string): Promise<number> => {
      const [row] = await engine.read<{ number: number }>(database.url, `SELECT count(*) AS number FROM ${table}`)
      return Number(row?.number)
    },
    everything: () => engine.everything(database.url),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
