import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { sqlite } from '../../test/harness/engines.ts'
import { sample } from '../../test/harness/samples.ts'
import { startService } from '../../test/harness/service.ts'

setDefaultTimeout(120_000)

/** Each as large as a request may be, and more of them than may wait: about 95 MiB. */
const COMMENT_CHARACTERS = 1_000_000
const LARGE_BODIES = 100

test('large bodies that wait for a commit are bounded in bytes, and small ones are not turned away because of them', async () => {
  await using database = await sqlite.freshDatabase()
  await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
  const create = (description: string) =>
    fetch(`${service.address}/products/`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...sample.product, description }),
    })
  using other = new Database(database.url.slice('sqlite:'.length))
  other.run('BEGIN IMMEDIATE')
  const large = Array.from({ length: LARGE_BODIES }, () => create('x'.repeat(COMMENT_CHARACTERS)))
  const refused = await Promise.race(large)
  expect(refused.status).toBe(503)
  expect(refused.headers.get('Retry-After')).toBe('1')
  expect(await refused.json()).toEqual({ detail: 'Too many large requests are under way' })
  const small = create('small')
  other.run('ROLLBACK')
  expect((await small).status).toBe(200)
  const statuses = await Promise.all(large.map(async answer => (await answer).status))
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
})
