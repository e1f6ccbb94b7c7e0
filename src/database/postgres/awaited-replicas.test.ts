import { expect, spyOn, test } from 'bun:test'
import { postgresAddress } from './address.ts'
import { Pool } from './pool.ts'
import { Replicas } from './replicas.ts'

const REPLAYED = /pg_last_wal_replay_lsn/

test('while a write waits for one replica, that one is looked at often, and another that shows the write is not', async () => {
  const looks = new Map<Pool, number>()
  using query = spyOn(Pool.prototype, 'query')
  query.mockImplementation(async function (this: Pool, sql: string) {
    if (!REPLAYED.test(sql)) return position(2)
    looks.set(this, (looks.get(this) ?? 0) + 1)
    const [first] = looks.keys()
    return position(this === first ? 2 : 1)
  })
  const address = postgresAddress('postgres://127.0.0.1:1/none', {
    password: null,
    isPooled: false,
    shallDistribute: false,
  })
  await using primary = new Pool(address, { connections: 1, statementMs: 1_000 })
  await using replicas = new Replicas(primary, [address, address], 1)
  await replicas.showAll()
  const [shows = 0, lags = 0] = looks.values()
  expect(shows).toBeGreaterThan(0)
  expect(lags).toBeGreaterThan(2 * shows)
})

/** The answer to a question for a position in the write-ahead log. */
function position(bytes: number) {
  return JSON.parse(`[{ "bytes": "${bytes}" }]`)
}
