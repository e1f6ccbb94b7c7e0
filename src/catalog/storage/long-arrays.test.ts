import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { campaign } from '../../../test/harness/campaign.ts'
import { client } from '../../../test/harness/client.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

/** Reviews of the product in the first round, and in the longest: about 1 GB. */
const REVIEWS = 20_000
const REVIEWS_MAX = 1_000_000
const COMMENT_CHARACTERS = 1_000

/** Clients that request the product's list of reviews and read nothing. */
const READERS = 20

/** Checked in the long rounds only, on a quiet machine. */
const WAIT_MAX_MS = 1_000

campaign(
  'a product with ever more long reviews disturbs nobody, neither while it is read nor while it is deleted',
  async ({ rounds }) => {
    // If the machine pauses, the product may be gone before others have asked.
    for (const round of rounds(1)) await until(() => disturbsNobody(round))
  },
)

/** Resolves to whether others were answered while the product was being deleted. */
async function disturbsNobody(round: number): Promise<boolean> {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const api = client(() => service.address)
  const otherId = await api.create('/products/', sample.product)
  const id = await api.create('/products/', sample.product)
  const userId = await api.create('/users/', sample.user)
  using file = new Database(database.url.slice('sqlite:'.length))
  file.run(
    `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?)
      INSERT INTO reviews (product_id, user_id, rating, comment) SELECT ?, ?, 5, printf('%.*c', ?, 'x') FROM numbers`,
    [Math.min(REVIEWS * (round + 1) ** 2, REVIEWS_MAX), id, userId, COMMENT_CHARACTERS],
  )
  const readers = Array.from({ length: READERS }, () =>
    ask(service.address, `/reviews/products/${id}?limit=1000000000`),
  )
  let isDeleted = false
  const deleting = api.delete(`/products/${id}`).finally(() => {
    isDeleted = true
  })
  let answersBefore = 0
  do {
    const asked = performance.now()
    for (const path of ['/healthz', `/products/${otherId}`]) {
      expect((await api.get(path)).status).toBe(200)
      if (!isDeleted) answersBefore += 1
    }
    if (round > 0) expect(performance.now() - asked).toBeLessThan(2 * WAIT_MAX_MS)
  } while (!isDeleted)
  const deleted = await deleting
  expect(deleted).toMatchObject({ status: 200, body: { id, reviews: { length: 100 } } })
  expect(deleted.headers.get('Link')).toBe(`</reviews/products/${id}?skip=100>; rel="more"`)
  expect((await api.get(`/reviews/products/${id}`)).status).toBe(404)
  expect((await api.get(`/users/${userId}`)).body).toMatchObject({ reviews: [] })
  for (const reader of readers) reader.destroy()
  return answersBefore > 2
}

/** Sends a request and reads nothing. */
function ask(address: string, path: string): Socket {
  const { hostname, port, host } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.on('error', () => {})
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}
