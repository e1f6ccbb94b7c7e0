import { expect, setDefaultTimeout, test } from 'bun:test'
import { lines, NDJSON, postKeyed } from '../../../../test/harness/catalog/keyed.ts'
import { everything, idOf, listOf, shelf } from '../../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { onEachEngine, withEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** Requests that are sent at the same time. */
const AT_ONCE = 20

/** More than can be hashed within the time that a password may wait. */
const PASSWORDS = 400

const LARGE_CHARACTERS = 1_000_000

onEachEngine('requests with an Idempotency-Key', api => {
  test('every POST gives its first answer again, byte for byte, and creates nothing again', async () => {
    for (const { path, body, type } of await postsOf(api)) {
      const request = { key: crypto.randomUUID(), path, body, type }
      const first = await postKeyed(api, request)
      expect(first, `${path} ${type}`).toMatchObject({ status: 200, isReplayed: false })
      const stored = await everything(api)
      for (let time = 0; time < 2; time += 1) {
        const again = await postKeyed(api, request)
        expect(again, `${path} ${type}`).toMatchObject({ status: 200, isReplayed: true, text: first.text })
        for (const name of ['Content-Type', 'Cache-Control', 'ETag']) {
          expect(again.headers.get(name), `${path} ${name}`).toBe(first.headers.get(name))
        }
      }
      expect(await everything(api), `${path} ${type}`).toEqual(stored)
    }
  })

  test('the first answer is given even if the resource was changed or deleted since', async () => {
    const { productId, userId } = await shelf(api)
    const product = { key: crypto.randomUUID(), path: '/products/', body: sample.product }
    const review = { key: crypto.randomUUID(), path: '/reviews/', body: sample.review(productId, userId) }
    const [created, reviewed] = [await postKeyed(api, product), await postKeyed(api, review)]
    await api.put(`/products/${idOf(JSON.parse(created.text))}`, { ...sample.product, price: 99 })
    await api.delete(`/products/${productId}`)
    expect(await postKeyed(api, product)).toMatchObject({ status: 200, isReplayed: true, text: created.text })
    expect(await postKeyed(api, review)).toMatchObject({ status: 200, isReplayed: true, text: reviewed.text })
  })

  test('a key with and without quotes is the same key', async () => {
    for (const [quoted, bare] of [
      ['"8e03978e-40d5-43e8-bc93-6894a57f9324"', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
      [`"${'k'.repeat(255)}"`, 'k'.repeat(255)],
      ['"say-#1;=/?"', 'say-#1;=/?'],
    ] as const) {
      const first = await postKeyed(api, { key: quoted, path: '/products/', body: sample.product })
      expect(first, quoted).toMatchObject({ status: 200, isReplayed: false })
      const again = await postKeyed(api, { key: bare, path: '/products/', body: sample.product })
      expect(again, bare).toMatchObject({ status: 200, isReplayed: true, text: first.text })
    }
    const escaped = await postKeyed(api, { key: '"a \\" and a \\\\, too"', path: '/products/', body: sample.product })
    expect(escaped).toMatchObject({ status: 200, isReplayed: false })
  })

  test('a header that is not one key gets 422, and nothing is created', async () => {
    const stored = await everything(api)
    const wrong = ['', '""', '"', '"a', 'a"', 'a, b', '"a", "b"', 'a b', '"a";b=1', '"\\a"', 'é', 'k'.repeat(256)]
    for (const key of [...wrong, `"${'k'.repeat(256)}"`]) {
      for (const type of ['application/json', NDJSON]) {
        const { status, text } = await postKeyed(api, { key, path: '/products/', body: sample.product, type })
        expect(status, key).toBe(422)
        expect(JSON.parse(text), key).toEqual({
          detail: [
            {
              loc: ['header', 'Idempotency-Key'],
              type: 'value_error',
              msg: 'Value error, a key has 1 to 255 printable ASCII characters, in double quotes or bare',
            },
          ],
        })
      }
    }
    expect(await everything(api)).toEqual(stored)
  })

  test('a key that was used for another body, path or media type gets 422, and nothing is created', async () => {
    const { categoryId } = await shelf(api)
    const key = crypto.randomUUID()
    const body = JSON.stringify(sample.product)
    const first = await postKeyed(api, { key, path: '/products/', body })
    const stored = await everything(api)
    for (const other of [
      { path: '/products/', body: { ...sample.product, price: 35 } },
      { path: '/products/', body: `${body} ` },
      { path: '/products/', body, type: NDJSON },
      { path: `/products/${categoryId}/products`, body },
      { path: '/categories/', body: sample.category },
    ]) {
      const { status, text, isReplayed } = await postKeyed(api, { key, ...other })
      expect({ status, isReplayed }, text).toEqual({ status: 422, isReplayed: false })
      expect(JSON.parse(text)).toMatchObject({
        detail: [{ loc: ['header', 'Idempotency-Key'], msg: expect.stringContaining('used for another request') }],
      })
    }
    expect(await everything(api)).toEqual(stored)
    expect(await postKeyed(api, { key, path: '/products/', body })).toMatchObject({
      text: first.text,
      isReplayed: true,
    })
    const many = { key: crypto.randomUUID(), path: '/products/', body: lines(sample.product), type: NDJSON }
    expect((await postKeyed(api, many)).status).toBe(200)
    const changed = lines({ ...sample.product, price: 35 })
    expect(await postKeyed(api, { ...many, body: changed })).toMatchObject({ status: 422, isReplayed: false })
    expect(await postKeyed(api, many)).toMatchObject({ status: 200, isReplayed: true })
  })

  test('an error is not kept, because nothing was written: the corrected request may use the same key', async () => {
    const { productId, userId } = await shelf(api)
    for (const { path, wrong, right, status, type } of [
      { path: '/products/', wrong: { ...sample.product, price: 0 }, right: sample.product, status: 422 },
      { path: '/products/', wrong: '{', right: sample.product, status: 422 },
      {
        path: '/reviews/',
        wrong: sample.review(10 ** 9, userId),
        right: sample.review(productId, userId),
        status: 404,
      },
      { path: '/products/', wrong: lines({ name: 'x' }), right: lines(sample.product), status: 422, type: NDJSON },
      {
        path: '/reviews/',
        wrong: lines(sample.review(10 ** 9, userId)),
        right: lines(sample.review(productId, userId)),
        status: 422,
        type: NDJSON,
      },
    ]) {
      const key = crypto.randomUUID()
      const request = { key, path, ...(type !== undefined && { type }) }
      const refused = await postKeyed(api, { ...request, body: wrong })
      expect({ status: refused.status, isReplayed: false }, path).toEqual({ status, isReplayed: false })
      expect(await postKeyed(api, { ...request, body: right })).toMatchObject({ status: 200, isReplayed: false })
      expect(await postKeyed(api, { ...request, body: right })).toMatchObject({ status: 200, isReplayed: true })
    }
  })

  test('of many simultaneous requests with one key, one creates something; others get its answer or 409', async () => {
    for (const { path, body, type } of await postsOf(api)) {
      const request = { key: crypto.randomUUID(), path, body, type }
      const before = (await everything(api)).flat().length
      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => postKeyed(api, request)))
      const created = answers.filter(({ status, isReplayed }) => status === 200 && !isReplayed)
      expect(created, path).toHaveLength(1)
      for (const { status, text, isReplayed, headers } of answers) {
        if (isReplayed) expect(text).toBe(created[0]?.text ?? '')
        else if (status !== 200) {
          expect({ status, retryAfter: headers.get('Retry-After') }, text).toEqual({ status: 409, retryAfter: '1' })
        }
      }
      const items = type === NDJSON ? 2 : 1
      expect((await everything(api)).flat().length, path).toBe(before + items)
    }
  })

  test('simultaneous requests with keys of their own, and without any, each create their own', async () => {
    const { productId, userId } = await shelf(api)
    const review = (number: number) => ({ ...sample.review(productId, userId), comment: `No. ${number}` })
    await Promise.all(
      Array.from({ length: AT_ONCE * 3 }, async (_, place) => {
        const request = { key: crypto.randomUUID(), path: '/reviews/', body: review(place) }
        if (place % 3 === 0) return api.create('/reviews/', review(place))
        const first = await postKeyed(api, request)
        expect(JSON.parse(first.text)).toMatchObject(review(place))
        expect(await postKeyed(api, request)).toMatchObject({ text: first.text, isReplayed: true })
      }),
    )
    const reviews = await listOf(api, `/reviews/products/${productId}?limit=1000`)
    const expected = Array.from({ length: AT_ONCE * 3 }, (_, place) => `No. ${place}`)
    expect(reviews.map(item => Reflect.get(item, 'comment')).toSorted()).toEqual(['Digs well', ...expected].toSorted())
  })

  test('a large answer is given again in full', async () => {
    const body = { ...sample.product, description: 'ä"\\\u0001 '.repeat(LARGE_CHARACTERS / 25) }
    const request = { key: crypto.randomUUID(), path: '/products/', body }
    const first = await postKeyed(api, request)
    expect(first.status).toBe(200)
    expect(await postKeyed(api, request)).toMatchObject({ status: 200, isReplayed: true, text: first.text })
  })

  test('other methods ignore the header', async () => {
    const { productId } = await shelf(api)
    const put = (price: number) =>
      api.send(`/products/${productId}`, {
        method: 'PUT',
        body: JSON.stringify({ ...sample.product, price }),
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'one, two' },
      })
    expect((await put(1)).body).toMatchObject({ price: 1 })
    expect((await put(2)).body).toMatchObject({ price: 2 })
  })
})

withEachEngine('requests with an Idempotency-Key while passwords are hashed', engine => {
  test('an answer is given again without hashing a password', async () => {
    // Its hashes take as long as those of users.
    await using database = await engine.freshDatabase()
    await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
    const api = client(() => service.address)
    const user = { key: crypto.randomUUID(), path: '/users/', body: sample.user }
    const many = { key: crypto.randomUUID(), path: '/users/', body: lines(sample.user, sample.user), type: NDJSON }
    const firsts = [await postKeyed(api, user), await postKeyed(api, many)]
    const leaving = new AbortController()
    const flood = Array.from({ length: PASSWORDS }, async () => {
      const sent = { method: 'POST', body: JSON.stringify(sample.user), signal: leaving.signal }
      const response = await fetch(`${api.address()}/users/`, {
        ...sent,
        headers: { 'Content-Type': 'application/json' },
      })
      return response.status
    })
    // No password can be hashed now.
    await Promise.any(flood.map(async status => expect(await status).toBe(503)))
    const again = [await postKeyed(api, user), await postKeyed(api, many)]
    leaving.abort()
    await Promise.allSettled(flood)
    expect(again.map(({ status, text, isReplayed }) => ({ status, text, isReplayed }))).toEqual(
      firsts.map(({ text }) => ({ status: 200, text, isReplayed: true })),
    )
    for (const { text } of again) expect(text).not.toContain(sample.user.password)
  })
})

/** One of each request that creates something. */
async function postsOf(api: Client) {
  const { categoryId, productId, userId } = await shelf(api)
  const type = 'application/json'
  const review = sample.review(productId, userId)
  return [
    { path: '/categories/', body: sample.category, type },
    { path: '/products/', body: sample.product, type },
    { path: `/products/${categoryId}/products`, body: sample.product, type },
    { path: '/users/', body: sample.user, type },
    { path: '/reviews/', body: review, type },
    { path: '/categories/', body: lines(sample.category, sample.category), type: NDJSON },
    { path: '/products/', body: lines(sample.product, { ...sample.product, category_id: categoryId }), type: NDJSON },
    { path: '/users/', body: lines(sample.user, sample.user), type: NDJSON },
    { path: '/reviews/', body: lines(review, review), type: NDJSON },
  ]
}
