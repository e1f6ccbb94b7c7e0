import { expect, setDefaultTimeout, test } from 'bun:test'
import { onEachEngine } from '../../../test/harness/contract.ts'
import { sample } from '../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

/** Every answer shows this in place of a password. */
const MASK = '**********'

/** An id that no test creates. */
const ABSENT_ID = 9_007_199_254_740_991

const NOT_FOUND = { detail: 'User not found' }

/** The flags of a user created without any. */
const fallbackFlags = {
  is_active: 1,
  is_admin: 0,
  is_banned: 0,
  is_blocked: 0,
  is_deleted: 0,
  is_suspended: 0,
  is_verified: 0,
}

/** Different from every default. */
const otherFlags = {
  is_active: 0,
  is_admin: 1,
  is_banned: 2,
  is_blocked: 3,
  is_deleted: -4,
  is_suspended: 5,
  is_verified: 6,
}

/** The sample as answers show it. */
const shown = { ...sample.user, password: MASK }

onEachEngine('users', api => {
  test('a created user is returned with an id, the default flags and no reviews', async () => {
    const created = await api.post('/users/', sample.user)
    expect(created.status).toBe(200)
    expect(created.headers.get('Content-Type')).toBe('application/json')
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...shown, ...fallbackFlags, reviews: [] })
  })

  test('a created user has the flags that were sent', async () => {
    const created = await api.post('/users/', { ...sample.user, ...otherFlags })
    expect(created.body).toStrictEqual({ id: expect.any(Number), ...shown, ...otherFlags, reviews: [] })
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual({ id, ...shown, ...otherFlags, reviews: [] })
  })

  test('a user reads as they were created, alone and in the list', async () => {
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

  test("a deleted user's id is never used again", async () => {
    const id = await api.create('/users/', sample.user)
    await api.delete(`/users/${id}`)
    expect(await api.create('/users/', sample.user)).toBeGreaterThan(id)
  })

  test('updating a user changes what was sent, in the answer and when read again', async () => {
    const id = await api.create('/users/', sample.user)
    expect((await api.get(`/users/${id}`)).body).toMatchObject(shown)
    const update = { name: 'Ada Marble', email: 'marble@mail.example', avatar: '', password: 'another', ...otherFlags }
    const updated = await api.patch(`/users/${id}`, update)
    expect(updated.status).toBe(200)
    expect(updated.body).toStrictEqual({ id, ...update, password: MASK, reviews: [] })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(updated.body)
    expect((await api.get(`/users/?after_id=${id - 1}&limit=1`)).body).toStrictEqual([updated.body])
  })

  test('updating a user changes no other user', async () => {
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

  test('updating a user without their flags keeps the flags', async () => {
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    const updated = await api.patch(`/users/${id}`, { ...sample.user, name: 'Ada Marble' })
    expect(updated.body).toStrictEqual({ id, ...shown, name: 'Ada Marble', ...otherFlags, reviews: [] })
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(updated.body)
  })

  test('updating one flag of a user keeps the others', async () => {
    const id = await api.create('/users/', { ...sample.user, is_banned: 1 })
    await api.patch(`/users/${id}`, { ...sample.user, is_verified: 1 })
    expect((await api.get(`/users/${id}`)).body).toMatchObject({ ...fallbackFlags, is_banned: 1, is_verified: 1 })
    await api.patch(`/users/${id}`, { ...sample.user, is_banned: 0 })
    expect((await api.get(`/users/${id}`)).body).toMatchObject({ ...fallbackFlags, is_banned: 0, is_verified: 1 })
  })

  test('a user may be read, changed and written back whole', async () => {
    const id = await api.create('/users/', { ...sample.user, ...otherFlags })
    const before = await api.get(`/users/${id}`)
    const written = await api.patch(`/users/${id}`, before.body)
    expect(written.status).toBe(200)
    expect(written.body).toStrictEqual(before.body)
    expect((await api.get(`/users/${id}`)).body).toStrictEqual(before.body)
  })

  test('an id in the body of a user update is ignored', async () => {
    const other = await api.create('/users/', sample.user)
    const id = await api.create('/users/', sample.user)
    const updated = await api.patch(`/users/${id}`, { ...sample.user, id: other, name: 'Ada Marble' })
    expect(updated.body).toMatchObject({ id, name: 'Ada Marble' })
    expect((await api.get(`/users/${other}`)).body).toMatchObject({ id: other, name: sample.user.name })
  })

  test('a user shows their reviews, in order of id and with exactly these fields', async () => {
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

  test('deleting a user returns the user as they were just before, with their reviews', async () => {
    const { userId } = await reviewer()
    const before = await api.get(`/users/${userId}`)
    const deleted = await api.delete(`/users/${userId}`)
    expect(deleted.status).toBe(200)
    expect(deleted.body).toStrictEqual(before.body)
  })

  test('deleting a user deletes their reviews, wherever those were shown', async () => {
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

  test('a user that does not exist is 404, for every operation', async () => {
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

  test("a user's name and e-mail address may have 3 to 50 characters", async () => {
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
