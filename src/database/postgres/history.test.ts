import { expect, setDefaultTimeout, test } from 'bun:test'
import type { SQL } from 'bun'
import { postgres } from '../../../test/harness/engines.ts'
import { connected } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { catalogMigrations } from '../../catalog/migrations/index.ts'
import { PostgresHistory } from './history.ts'

/** Readers of one log whose statements overlap: the feed reads on while a follower reads older events. */

setDefaultTimeout(120_000)

const LOG = `
  INSERT INTO change_log (transaction_id, changes, events, tag)
  VALUES (pg_current_xact_id()::text::bigint, '[]', 1, 5) RETURNING position::float8 AS position`

test('a reader passes over no transaction that ends while it waits for the log', async () => {
  await using log = await openLog()
  const { history } = log
  const { position: from } = await history.last()
  const slow = await log.begin()
  await log.write()
  await history.read(from)
  const answer = log.holdNext('change_log')
  const held = history.read(from)
  await answer.arrived
  await slow.commit()
  const all = await positionsFrom(history, from)
  expect(all).toHaveLength(3)
  answer.pass()
  expect(all.slice(0, (await positions(held)).length)).toEqual(await positions(held))
})

test('a reader passes over no transaction that another reader has found missing in the meantime', async () => {
  await using log = await openLog()
  const { history } = log
  const { position: from } = await history.last()
  const first = await log.begin()
  await log.write()
  await history.read(from)
  await first.commit()
  const answer = log.holdNext('pg_locks')
  const held = history.read(from)
  await answer.arrived
  const second = await log.begin()
  await log.write()
  expect(await positionsFrom(history, from)).toHaveLength(3)
  answer.pass()
  const told = await positions(held)
  await second.commit()
  const all = await positionsFrom(history, from)
  expect(all).toHaveLength(5)
  expect(all.slice(0, told.length)).toEqual(told)
})

test('a reader passes over no transaction because another one reads only what comes after it', async () => {
  await using log = await openLog()
  const { history } = log
  const { position: from } = await history.last()
  const slow = await log.begin()
  for (let written = 0; written < 2; written += 1) await log.write()
  expect(await positions(history.read(from + 3))).toEqual([from + 3])
  const told = await positions(history.read(from))
  await slow.commit()
  const all = await positionsFrom(history, from)
  expect(all).toHaveLength(4)
  expect(all.slice(0, told.length)).toEqual(told)
})

test('a new reader begins before a transaction that takes long, and gets it when it commits', async () => {
  await using log = await openLog()
  const { history } = log
  const { position: before } = await history.last()
  const slow = await log.begin()
  await log.write()
  const { position: from } = await history.last()
  expect(from).toBe(before)
  await slow.commit()
  expect(await positionsFrom(history, from)).toEqual([before, before + 1, before + 2])
})

test('a reader does not wait for transactions of other databases', async () => {
  await using log = await openLog()
  await using elsewhere = await postgres.freshDatabase()
  await using other = connected(elsewhere.url)
  await other.unsafe('BEGIN; SELECT pg_current_xact_id()')
  const { history } = log
  const { position: from } = await history.last()
  const failed = await log.begin()
  await log.write()
  await history.read(from)
  await failed.rollBack()
  expect(await positionsFrom(history, from)).toEqual([from, from + 2])
})

/** A log on PostgreSQL, with one row. */
async function openLog() {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await postgres.freshDatabase())
  const database = opening.use(await openedDatabase(url, { connections: 2, migrations: [catalogMigrations] }))
  const sql = opening.use(connected(url))
  let hold: { text: string; arrive: () => void; passed: Promise<void> } | null = null
  const history = new PostgresHistory({
    isDistributed: false,
    write: (...statement) => database.write(...statement),
    readPrimary: async <Row>(...[statement, ...parameters]: Parameters<typeof database.readPrimary>) => {
      const held = hold && statement.includes(hold.text) ? hold : null
      if (held) hold = null
      const rows = await database.readPrimary<Row>(statement, ...parameters)
      held?.arrive()
      await held?.passed
      return rows
    },
  })
  await history.begin()
  const all = opening.move()
  return {
    history,
    /** Holds back the answer to the next statement with this text. */
    holdNext: (text: string) => {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      const { promise: passed, resolve: pass } = Promise.withResolvers<void>()
      hold = { text, arrive, passed }
      return { arrived, pass }
    },
    write: () => sql.unsafe(LOG),
    /** A transaction that has its position. */
    begin: async () => {
      const own: SQL = all.use(connected(url))
      await own.unsafe('BEGIN')
      await own.unsafe(LOG)
      return { commit: () => own.unsafe('COMMIT'), rollBack: () => own.unsafe('ROLLBACK') }
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}

/** The positions that readers get until nothing more comes. */
async function positionsFrom(history: PostgresHistory, from: number): Promise<number[]> {
  await history.read(from)
  return positions(history.read(from))
}

async function positions(piece: ReturnType<PostgresHistory['read']>): Promise<number[]> {
  return (await piece).transactions.map(({ position }) => position)
}
