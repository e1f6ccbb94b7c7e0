import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from 'node:net'
import { client } from '../../../test/harness/client.ts'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { ENGINES, type Engine, sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'

setDefaultTimeout(60_000)

/** What every answer shows in the place of a password. */
const MASK = '**********'

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const NOT_FOUND = { detail: 'User not found' }

/** The flags of a user that was created without any. */
const fallbackFlags = {
  is_active: 1,
  is_admin: 0,
  is_banned: 0,
  is_blocked: 0,
  is_deleted: 0,
  is_suspended: 0,
  is_verified: 0,
}

/** As none of the fallbacks is. */
const otherFlags = {
  is_active: 0,
  is_admin: 1,
  is_banned: 2,
  is_blocked: 3,
  is_deleted: -4,
  is_suspended: 5,
  is_verified: 6,
}

/** What an answer shows of the sample. */
const shown = { ...sample.user, password: MASK }

onEachEngine('users', api => {
  test('a user that is created comes back with an id, the default flags and no reviews', async () => {
    const created = await api.post('/users/', sample.user)
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...shown, ...fallbackFlags, reviews: [] })
  })

  test('a user has the flags that they are created with', async () => {
    const created = await api.post('/users/', { ...sample.user, ...otherFlags })
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...shown, ...otherFlags, reviews: [] })
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual({ id, ...shown, ...otherFlags, reviews: [] })
  })

  test('a user that is read is as they were created, alone and in the list', async () => {
    const created = await api.post('/users/', { ...sample.user, is_verified: 1 })
    const user = { ...shown, ...fallbackFlags, is_verified: 1, reviews: [] }
    expect(created.body).toMatchObject(user)
    const id = await api.create('/users/', { ...sample.user, is_verified: 1 })
    const read = await api.get(`/users/${id}`)
    expect(read.status).toBe(200)
    expect(read.body).toStrictEqual({ id, ...user })
    expect((await api.get(`/users/?after_id=${id - 1}`)).body).toStrictEqual([{ id, ...user }])
  })

  test('two users may have the same name and e-mail address', async () => {
    const first = await api.create('/users/', sample.user)
    const second = await api.create('/users/', sample.user)
    expect(second).not.toBe(first)
    expect((await api.get(`/users/${second}`)).body).toMatchObject({ email: sample.user.email })
  })

  test('an id is never used again after a delete', async () => {
    const id = await api.create('/users/', sample.user)
    await api.delete(`/users/${id}`)
    expect(await api.create('/users/', sample.user)).toBeGreaterThan(id)
  })

  test('an update changes what it sends, in its answer and when read again', async () => {
    const id = await api.create('/users/', sample.user)
    expect((await api.get(`/users/${id}`)).body).toMatchObject(shown)
    const update = { name: 'Ada Marble', email: 'marble@mail.example', avatar: '', password: 'another', ...otherFlags }
    const updated = await api.patch(`/users/${id}`, update)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ id, ...update, password: MASK, reviews: [] })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(updated.body)
    expect((await api.get(`/users/?after_id=${id - 1}&limit=1`)).body).toStrictEqual([updated.body])
  })

  test('an update changes no other user', async () => {
    const other = await api.create('/users/', sample.user)
    const id = await api.create('/users/', sample.user)
    await api.patch(`/users/${id}`, { ...sample.user, name: 'Ada Marble', is_banned: 1 })
    expect((await api.get(`/users/${other}`)).body).toStrictEqual({
      id: other,
      ...shown,
      ...fallbackFlags,
      reviews: [],
    })
  })

  test('flags that an update leaves out keep their values', async () => {
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    const updated = await api.patch(`/users/${id}`, { ...sample.user, name: 'Ada Marble' })
    expect(updated.body).toStrictEqual({ id, ...shown, name: 'Ada Marble', ...otherFlags, reviews: [] })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(updated.body)
  })

  test('an update of one flag keeps the others', async () => {
    const id = await api.create('/users/', { ...sample.user, is_banned: 1 })
    await api.patch(`/users/${id}`, { ...sample.user, is_verified: 1 })
    expect((await api.get(`/users/${id}`)).body).toMatchObject({ ...fallbackFlags, is_banned: 1, is_verified: 1 })
    await api.patch(`/users/${id}`, { ...sample.user, is_banned: 0 })
    expect((await api.get(`/users/${id}`)).body).toMatchObject({ ...fallbackFlags, is_banned: 0, is_verified: 1 })
  })

  test('a user may be read, changed and written back as they are', async () => {
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    const before = await api.get(`/users/${id}`)
    const written = await api.patch(`/users/${id}`, before.body)
    expect(written.status).toBe(200)
    expect(written.body).toStrictEqual(before.body)
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(before.body)
  })

  test('an id in the body of an update is ignored', async () => {
    const other = await api.create('/users/', sample.user)
    const id = await api.create('/users/', sample.user)
    const updated = await api.patch(`/users/${id}`, { ...sample.user, id: other, name: 'Ada Marble' })
    expect(updated.body).toMatchObject({ id, name: 'Ada Marble' })
    expect((await api.get(`/users/${other}`)).body).toMatchObject({ id: other, name: sample.user.name })
  })

  test('a user shows their reviews, in order of id and of exactly these fields', async () => {
    const { userId, reviewIds } = await reviewer()
    const read = await api.get(`/users/${userId}`)
    expect(read.body).toStrictEqual({
      id: userId,
      ...shown,
      ...fallbackFlags,
      reviews: reviewIds.map((id, index) => ({
        id,
        product_id: expect.any(Number),
        user_id: userId,
        rating: index + 1,
        comment: `Number ${index}`,
      })),
    })
    expect((await api.get(`/users/?after_id=${userId - 1}`)).body).toStrictEqual([read.body])
    expect((await api.patch(`/users/${userId}`, sample.user)).body).toStrictEqual(read.body)
  })

  test('a delete answers the user as they stood just before, with their reviews', async () => {
    const { userId } = await reviewer()
    const before = await api.get(`/users/${userId}`)
    const deleted = await api.delete(`/users/${userId}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(before.body)
  })

  test('a user that was deleted is gone, and so are their reviews, wherever they were shown', async () => {
    const { userId, productIds, reviewIds } = await reviewer()
    const other = await api.create('/users/', sample.user)
    const kept = await api.create('/reviews/', sample.review(productIds[0] ?? 0, other))
    expect((await api.get(`/users/${userId}`)).body).toMatchObject({ id: userId })
    expect((await api.get(`/products/${productIds[1]}`)).body).toMatchObject({ reviews: [{ user_id: userId }] })
    await api.delete(`/users/${userId}`)
    const gone = await api.get(`/users/${userId}`)
    expect(gone.status).toBe(404)
    expect(gone.body).toEqual(NOT_FOUND)
    expect((await api.get(`/users/?after_id=${userId - 1}`)).body).toMatchObject([{ id: other }])
    for (const id of reviewIds) expect((await api.get(`/reviews/${id}`)).status).toBe(404)
    expect((await api.get(`/reviews/products/${productIds[0]}`)).body).toMatchObject([{ id: kept }])
    expect((await api.get(`/products/${productIds[0]}`)).body).toMatchObject({ reviews: [{ id: kept }] })
    expect((await api.get(`/products/${productIds[1]}`)).body).toMatchObject({ reviews: [] })
    expect((await api.get(`/reviews/users/${userId}`)).status).toBe(404)
  })

  test('a user that does not exist is not found, by any operation', async () => {
    for (const id of [ABSENT_ID, 0, -1, '99999999999999999999']) {
      for (const answer of [
        await api.get(`/users/${id}`),
        await api.patch(`/users/${id}`, sample.user),
        await api.delete(`/users/${id}`),
      ]) {
        expect(answer.status, String(id)).toBe(404)
        expect(answer.body, String(id)).toEqual(NOT_FOUND)
      }
    }
  })

  test('a user cannot be deleted twice', async () => {
    const id = await api.create('/users/', sample.user)
    expect((await api.delete(`/users/${id}`)).status).toBe(200)
    const again = await api.delete(`/users/${id}`)
    expect(again.status).toBe(404)
    expect(again.body).toEqual(NOT_FOUND)
    expect((await api.patch(`/users/${id}`, sample.user)).body).toEqual(NOT_FOUND)
  })

  test('a name and an e-mail address of 3 and of 50 characters are taken', async () => {
    for (const text of ['abc', 'a'.repeat(50)]) {
      const id = await api.create('/users/', { ...sample.user, name: text, email: text })
      expect((await api.get(`/users/${id}`)).body).toMatchObject({ name: text, email: text })
    }
  })

  /** A user with three reviews of two products. */
  async function reviewer() {
    const first = await api.create('/products/', sample.product)
    const productIds = [first, await api.create('/products/', sample.product)]
    const userId = await api.create('/users/', sample.user)
    const reviewIds: number[] = []
    for (const [index, productId] of [first, productIds[1] ?? first, first].entries()) {
      const review = { ...sample.review(productId, userId), rating: index + 1, comment: `Number ${index}` }
      reviewIds.push(await api.create('/reviews/', review))
    }
    return { userId, productIds, reviewIds }
  }
})

onEachEngine('a password', api => {
  test('is masked in every answer: create, read, list, update, delete', async () => {
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

  test('is in no review, nor is the e-mail address', async () => {
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

  test('that is empty is a password', async () => {
    const created = await api.post('/users/', { ...sample.user, password: '' })
    expect(created.status).toBe(200)
    expect(created.body).toMatchObject({ password: MASK })
    const id = await api.create('/users/', sample.user)
    const updated = await api.patch(`/users/${id}`, { ...sample.user, password: '' })
    expect(updated.status).toBe(200)
    expect(updated.body).toMatchObject({ password: MASK })
  })

  test('may be of any length', async () => {
    for (const password of ['a', 'p'.repeat(1_000), '😀'.repeat(100_000)]) {
      const created = await api.post('/users/', { ...sample.user, password })
      expect(created.status).toBe(200)
      expect(created.body).toMatchObject({ password: MASK })
    }
  })

  test('may not be the mask when a user is created', async () => {
    const lastId = await api.create('/users/', sample.user)
    const answer = await api.post('/users/', { ...sample.user, password: MASK })
    expect(answer.status).toBe(422)
    expect(answer.body).toEqual({
      detail: [{ type: 'value_error', loc: ['body', 'password'], msg: expect.any(String) }],
    })
    expect((await api.get(`/users/?after_id=${lastId}`)).body).toEqual([])
  })

  test('that only resembles the mask is a password like any other', async () => {
    for (const password of ['*********', '***********', ' **********', '********** ']) {
      expect((await api.post('/users/', { ...sample.user, password })).status, password).toBe(200)
    }
  })

  test('that is the mask is reported together with all other errors of a create', async () => {
    const answer = await api.post('/users/', { ...sample.user, name: 'ab', password: MASK, is_admin: 'yes' })
    expect(answer.body).toMatchObject({
      detail: [
        { type: 'string_too_short', loc: ['body', 'name'] },
        { type: 'value_error', loc: ['body', 'password'] },
        { type: 'int_type', loc: ['body', 'is_admin'] },
      ],
    })
  })

  test('may be the mask in an update, and must be sent like the others', async () => {
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
  describe(`passwords, stored on ${engine.name}`, () => {
    test('a password is stored as an argon2id hash alone', async () => {
      await using shop = await startShop(engine)
      const password = 'swordfish-of-the-sea'
      const id = await shop.api.create('/users/', { ...sample.user, password })
      const hash = await shop.storedHash(id)
      expect(hash).toStartWith('$argon2id$')
      expect(await Bun.password.verify(password, hash)).toBe(true)
      await shop.stop()
      const bytes = await shop.everything()
      expect(bytes).toContain(hash)
      expect(bytes).not.toContain(password)
      expect(shop.printed()).not.toContain(password)
    })

    test('two users with the same password have hashes that differ', async () => {
      await using shop = await startShop(engine)
      const first = await shop.api.create('/users/', sample.user)
      const second = await shop.api.create('/users/', sample.user)
      expect(await shop.storedHash(second)).not.toBe(await shop.storedHash(first))
    })

    test('an empty password is stored as a hash too', async () => {
      await using shop = await startShop(engine)
      const id = await shop.api.create('/users/', { ...sample.user, password: '' })
      expect(await shop.storedHash(id)).toStartWith('$argon2id$')
    })

    test('an update with the mask keeps the stored password', async () => {
      await using shop = await startShop(engine)
      const id = await shop.api.create('/users/', sample.user)
      const before = await shop.storedHash(id)
      const updated = await shop.api.patch(`/users/${id}`, { ...sample.user, name: 'Ada Marble', password: MASK })
      expect(updated.body).toMatchObject({ name: 'Ada Marble' })
      expect(await shop.storedHash(id)).toBe(before)
    })

    test('an update with another password stores that one', async () => {
      await using shop = await startShop(engine)
      const id = await shop.api.create('/users/', sample.user)
      await shop.api.patch(`/users/${id}`, { ...sample.user, password: 'another' })
      const hash = await shop.storedHash(id)
      expect(hash).toStartWith('$argon2id$')
      expect(await Bun.password.verify('another', hash)).toBe(true)
      expect(await Bun.password.verify(sample.user.password, hash)).toBe(false)
    })

    test('an update that is refused keeps the stored password', async () => {
      await using shop = await startShop(engine)
      const id = await shop.api.create('/users/', sample.user)
      const before = await shop.storedHash(id)
      const refused = await shop.api.patch(`/users/${id}`, { ...sample.user, name: 'ab', password: 'another' })
      expect(refused.status).toBe(422)
      expect(await shop.storedHash(id)).toBe(before)
    })
  })
}

test('passwords of clients that have left are not hashed', async () => {
  await using shop = await startShop(sqlite)
  const abandoned = 30
  for (let count = 0; count < abandoned; count++) await postAndLeave(shop.api.address(), '/users/', sample.user)
  await shop.api.create('/users/', sample.user)
  // Those that were being hashed already are stored.
  expect(await shop.count('users')).toBeLessThan(abandoned / 2)
})

test('a user is turned away when too many passwords are waiting, and taken when they are gone', async () => {
  await using shop = await startShop(sqlite)
  const leaving = new AbortController()
  const answers = Array.from({ length: 250 }, () => post(`${shop.api.address()}/users/`, sample.user, leaving.signal))
  const refused = await firstWith(503, answers)
  expect(Number(refused.headers.get('Retry-After'))).toBeGreaterThan(0)
  expect(await refused.json()).toEqual({ detail: 'Too many passwords are waiting to be hashed' })
  await firstWith(200, answers)
  leaving.abort()
  await Promise.allSettled(answers)
  await shop.api.create('/users/', sample.user)
  expect(shop.printed()).not.toContain('"level":"error"')
})

for (const engine of ENGINES) {
  describe(`users that are not there, on ${engine.name}`, () => {
    test('an update of one waits for no password', async () => {
      await using shop = await startShop(engine)
      let created = 0
      const create = async () => {
        await shop.api.create('/users/', sample.user)
        created += 1
      }
      const creates = Array.from({ length: 40 }, create)
      await Promise.race(creates)
      expect((await shop.api.patch(`/users/${ABSENT_ID}`, { ...sample.user, password: 'another' })).body).toEqual(
        NOT_FOUND,
      )
      expect(created).toBeLessThan(creates.length / 2)
      await Promise.all(creates)
    })
  })
}

function post(url: string, body: unknown, signal: AbortSignal): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
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

/** Sends a whole request and is gone before the answer. */
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

/** A service of which the database can be read. */
async function startShop(engine: Engine) {
  const open = new AsyncDisposableStack()
  const database = open.use(await engine.freshDatabase())
  const service = open.use(await startService(database.url))
  return {
    api: client(() => service.address),
    stop: service.stop,
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
