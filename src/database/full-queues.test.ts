import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { createDatabase } from '../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../test/harness/postgres/opened.ts'
import { sharedServerUrl } from '../../test/harness/postgres/shared-server.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { errorResponse } from '../server/errors.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { Batch } from './postgres/batch.ts'
import { openSqlite } from './sqlite/open.ts'

/** More than a queue takes. */
const MANY = 10_000

test('SQLite: a write that finds the queue full gets 503, asks to try again, and is no failure of the database', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shop.db')
  await using database = await openSqlite(path, [])
  using other = new Database(path)
  other.run('BEGIN IMMEDIATE')
  const writes = Array.from({ length: MANY }, (_, place) => database.write(() => place))
  const refused = await Promise.any(writes.map(refusalOf))
  other.run('ROLLBACK')
  expect(await busyAnswer(refused)).toEqual({
    status: 503,
    retryAfter: '1',
    body: { detail: 'Too many writes are waiting' },
  })
  const answered = await Promise.allSettled(writes)
  expect(answered.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
})

test('PostgreSQL: a request that finds the queue full gets 503, asks to try again, and is no failure of the database', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using database = await openedDatabase(empty.url)
  const batch = database.batch(async (inputs: readonly number[]) => inputs, { statementsMax: 1, inputsMax: MANY })
  const requests = Array.from({ length: MANY }, (_, place) => batch.add(place))
  const refused = await Promise.any(requests.map(refusalOf))
  expect(await busyAnswer(refused)).toEqual({
    status: 503,
    retryAfter: '1',
    body: { detail: 'Too many requests are waiting' },
  })
  const answered = await Promise.allSettled(requests)
  expect(answered.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
})

test('PostgreSQL: a write that finds too many statements in progress gets 503, asks to try again, and is no failure of the database', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using database = await openedDatabase(empty.url)
  const writes = Array.from({ length: MANY }, async () => database.write('SELECT 1 AS one'))
  const refused = await Promise.any(writes.map(refusalOf))
  expect(await busyAnswer(refused)).toEqual({
    status: 503,
    retryAfter: '1',
    body: { detail: 'Too many statements are in progress' },
  })
  expect((await Promise.allSettled(writes)).some(({ status }) => status === 'fulfilled')).toBe(true)
})

test('PostgreSQL: a search that finds the queue full gets 503, asks to try again, and is no failure of the database', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using database = await openedDatabase(empty.url)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const searches = Array.from({ length: 1_100 }, () => database.readPlanned(() => ended))
  const refused = await Promise.any(searches.map(refusalOf))
  expect(await busyAnswer(refused)).toEqual({
    status: 503,
    retryAfter: '1',
    body: { detail: 'Too many searches are waiting' },
  })
  end()
  const answered = (await Promise.allSettled(searches)).filter(({ status }) => status === 'fulfilled')
  // Those that wait are refused after a time limit as well.
  expect(answered.length).toBeGreaterThan(1)
})

test('PostgreSQL: no statement is sent for requests that have been refused before they could join one', async () => {
  const sizes: number[] = []
  const sent = Promise.withResolvers<void>()
  const { promise: outcome, reject: fail } = Promise.withResolvers<readonly number[]>()
  const batch = new Batch((inputs: readonly number[]) => {
    sizes.push(inputs.length)
    sent.resolve()
    return outcome
  })
  const first = refusalOf(batch.add(1))
  await sent.promise
  const second = refusalOf(batch.add(2))
  const lost = new DatabaseUnavailableError('lost')
  fail(lost)
  expect(await Promise.all([first, second])).toEqual([lost, lost])
  await turn()
  expect(sizes).toEqual([1])
})

test('PostgreSQL: a request that waits is not refused because a statement before it was wrong', async () => {
  const wrong = new Error('wrong')
  const first = Promise.withResolvers<readonly number[]>()
  const sent = Promise.withResolvers<void>()
  const batch = new Batch(
    async (inputs: readonly number[]) => {
      sent.resolve()
      return inputs[0] === 1 ? first.promise : inputs
    },
    { statementsMax: 1, inputsMax: 8 },
  )
  const refused = refusalOf(batch.add(1))
  await sent.promise
  const waiting = batch.add(2)
  first.reject(wrong)
  expect(await refused).toBe(wrong)
  expect(await waiting).toBe(2)
})

/** Resolves to why it was rejected; rejects if it was done. */
async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  let reason: unknown
  const isRefused = await work.then(
    () => false,
    error => {
      reason = error
      return true
    },
  )
  if (!isRefused) throw new Error('it was done')
  return reason
}

async function busyAnswer(error: unknown) {
  const response = errorResponse(error, 'x')
  return { status: response.status, retryAfter: response.headers.get('Retry-After'), body: await response.json() }
}
