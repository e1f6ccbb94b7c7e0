import { expect, setDefaultTimeout, test } from 'bun:test'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { client } from '../../../test/harness/client.ts'
import { postgres } from '../../../test/harness/engines.ts'
import { connected } from '../../../test/harness/postgres/database.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'

/** Transactions of PostgreSQL that commit in another order than they draw their positions, fail, or are lost. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** More than enough for an event to arrive. */
const SILENCE_MS = 600

/** A transaction that has changed category 99. */
const CHANGE = `
  INSERT INTO change_log (transaction_id, changes, events, tag)
  SELECT pg_current_xact_id()::text::bigint,
    '[{"table":"categories","id":99,"before":{},"after":{},"values":{"name":"Late"}}]', 1, 5`

test('a follower waits for a transaction that has drawn its position earlier and commits later', async () => {
  await using database = await postgres.freshDatabase()
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using early = await EventFollower.at(service.address)
  await using slow = connected(database.url)
  for (const end of ['COMMIT', 'ROLLBACK']) {
    const before = early.events.length
    await slow.unsafe('BEGIN')
    await slow.unsafe(CHANGE)
    await api.create('/categories/', sample.category)
    await Bun.sleep(SILENCE_MS)
    expect(early.events).toHaveLength(before)
    await using late = await EventFollower.at(service.address, '/events?since=start')
    await slow.unsafe(end)
    const types = end === 'COMMIT' ? ['category.updated', 'category.created'] : ['category.created']
    await early.count(before + types.length)
    expect(early.types.slice(before)).toEqual(types)
    await late.count(before + types.length)
    expect(late.events.map(({ id }) => id)).toEqual(early.events.map(({ id }) => id))
  }
})

test('a follower whose last event was lost has to read everything again', async () => {
  await using database = await postgres.freshDatabase()
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using follower = await EventFollower.at(service.address)
  for (const _ of ['kept', 'lost']) await api.create('/categories/', sample.category)
  await follower.count(2)
  {
    // As a standby that had not got the last commit.
    await using other = connected(database.url)
    await other.unsafe('DELETE FROM change_log WHERE position = (SELECT max(position) FROM change_log)')
  }
  await follower.count(3)
  expect(follower.events[2]).toMatchObject({
    event: 'reset',
    id: follower.events[0]?.id,
    data: { data: { reason: 'unknown' } },
  })
  await api.create('/categories/', sample.category)
  await follower.count(4)
  expect(follower.events[3]).toMatchObject({ event: 'category.created', data: { data: { id: 3 } } })
})

test('so has one that returns with this event while the node has not seen yet that it was lost', async () => {
  await using database = await postgres.freshDatabase()
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  await using follower = await EventFollower.at(service.address)
  for (const _ of ['kept', 'lost']) await api.create('/categories/', sample.category)
  const [kept, lost] = await follower.count(2)
  await using other = connected(database.url)
  await other.unsafe('BEGIN')
  // Until the end, the node waits for the log.
  await other.unsafe('LOCK TABLE change_log')
  await other.unsafe('DELETE FROM change_log WHERE position = (SELECT max(position) FROM change_log)')
  const returning = EventFollower.at(service.address, `/events?since=${lost?.id}`)
  await Bun.sleep(200)
  await other.unsafe('COMMIT')
  await using returned = await returning
  expect(returned.frames[0]).toMatchObject({ event: 'reset', id: kept?.id, data: { data: { reason: 'unknown' } } })
})
