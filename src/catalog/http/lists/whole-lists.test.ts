import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { spawnSync } from 'bun'
import { client } from '../../../../test/harness/client.ts'
import { sqlite } from '../../../../test/harness/engines.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { type Service, startService } from '../../../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** About 75 MB as a list: few rows, because each takes the database and this test longer than its text does. */
const REVIEWS = 32_000
const PRODUCTS = 2_000
const COMMENT = 'Just as I wanted it. '.repeat(100)

/** Less than two thirds of what the list, its rows or its items take. A busy machine puts off collecting what is no longer used. */
const MEMORY_MAX_KIB = 88 * 1_024

/** Between two looks at the memory. */
const PAUSE_MS = 10

test('a whole list of any length takes little memory, compressed or not, and others are answered meanwhile', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const api = client(() => service.address)
  const user = await api.create('/users/', sample.user)
  fill(database.url.slice('sqlite:'.length), user)
  expect((await api.get('/reviews/?limit=1')).body).toBeArrayOfSize(1)

  const before = memoryKib(service)
  for (const coding of ['identity', 'zstd']) {
    let most = before
    let answered = 0
    let isRead = false
    const asking = (async () => {
      while (!isRead) {
        expect((await api.get('/healthz')).status).toBe(200)
        answered += 1
        await Bun.sleep(PAUSE_MS)
        most = Math.max(most, memoryKib(service))
      }
    })()
    const headers = { 'Accept-Encoding': coding }
    const list = await fetch(`${service.address}/reviews/?limit=1000000000`, { headers })
    expect(list.headers.get('Content-Encoding') ?? 'identity').toBe(coding)
    let bytes = 0
    let start = ''
    for await (const chunk of list.body ?? []) {
      start ||= new TextDecoder().decode(chunk.subarray(0, 7))
      bytes += chunk.length
    }
    isRead = true
    await asking
    expect(start, coding).toBe('[{"id":')
    expect(bytes, coding).toBeGreaterThan(REVIEWS * COMMENT.length)
    expect(most - before, coding).toBeLessThan(MEMORY_MAX_KIB)
    expect(answered, coding).toBeGreaterThan(10)
  }
})

function fill(path: string, user: number): void {
  using file = new Database(path)
  const numbers = (count: number) =>
    `WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${count})`
  const description = 'A product that is described in some words more than the least that anybody would say about it.'
  file.run(
    `${numbers(PRODUCTS)} INSERT INTO products (id, name, price, description) SELECT i, 'Product ' || i, 1.5, '${description}' FROM numbers`,
  )
  file.run(
    `${numbers(REVIEWS)} INSERT INTO reviews (id, product_id, user_id, rating, comment) SELECT i, 1 + i * 7919 % ${PRODUCTS}, ${user}, 5, '${COMMENT}' FROM numbers`,
  )
  file.run('PRAGMA wal_checkpoint(TRUNCATE)')
}

function memoryKib({ processId }: Service): number {
  // A process for each look takes longer than what it looks at.
  if (process.platform === 'linux') return residentKib(readFileSync(`/proc/${processId}/status`, 'utf8'))
  return Number(spawnSync(['ps', '-o', 'rss=', '-p', String(processId)]).stdout.toString())
}

function residentKib(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}
