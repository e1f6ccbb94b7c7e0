import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { AnswerRepository, Ending, StoredAnswer } from './repository.ts'

const UNDER_WAY = "state IN ('waiting', 'running')"

interface StateRow {
  readonly state: 'waiting' | 'running' | Ending['state']
  readonly failure: string | null
}

interface TextRow extends StateRow {
  readonly text: string
}

interface WishesRow extends StateRow {
  readonly stop_asked: 0 | 1
  readonly heard: string
}

interface UnderWayRow {
  readonly req_id: string
  readonly heartbeat: string
}

export function sqliteAnswers(database: SqliteDatabase): AnswerRepository {
  const insert = database.prepare<[reqId: string, aliveAt: number, heardAt: number]>(`
    INSERT INTO answers (req_id, state, alive_at, heard_at) VALUES (?, 'waiting', ?, ?) ON CONFLICT DO NOTHING`)
  const insertStopped = database.prepare<[reqId: string, aliveAt: number, heardAt: number]>(`
    INSERT INTO answers (req_id, state, alive_at, heard_at) VALUES (?, 'stopped', ?, ?) ON CONFLICT DO NOTHING`)
  const remove = database.prepare<[reqId: string]>("DELETE FROM answers WHERE req_id = ? AND state = 'waiting'")
  const select = database.prepare<[known: number, reqId: string], TextRow>(
    'SELECT state, failure, substr(text, 1 + ?) AS text FROM answers WHERE req_id = ?',
  )
  const selectWishes = database.prepare<[reqId: string], WishesRow>(
    'SELECT state, failure, stop_asked, CAST(heard_at AS TEXT) AS heard FROM answers WHERE req_id = ?',
  )
  const append = database.prepare<[state: string, position: number, text: string, aliveAt: number, reqId: string]>(
    `UPDATE answers SET state = ?, text = substr(text, 1, ?) || ?, alive_at = ? WHERE req_id = ? AND ${UNDER_WAY}`,
  )
  const end = database.prepare<[state: Ending['state'], failure: string | null, reqId: string]>(
    `UPDATE answers SET state = ?, failure = ? WHERE req_id = ? AND ${UNDER_WAY}`,
  )
  const complete = database.prepare<[text: string, reqId: string]>('UPDATE answers SET text = ? WHERE req_id = ?')
  const askToStop = database.prepare<[reqId: string]>('UPDATE answers SET stop_asked = 1 WHERE req_id = ?')
  const hear = database.prepare<[heardAt: number, reqId: string]>('UPDATE answers SET heard_at = ? WHERE req_id = ?')
  const selectUnderWay = database.prepare<[], UnderWayRow>(
    `SELECT req_id, CAST(alive_at AS TEXT) AS heartbeat FROM answers WHERE ${UNDER_WAY}`,
  )
  const interrupt = database.prepare<[reqId: string, heartbeat: string]>(`
    UPDATE answers SET state = 'interrupted' WHERE ${UNDER_WAY} AND req_id = ? AND alive_at = CAST(? AS INTEGER)`)

  return {
    claim: reqId => database.write(() => insert.run(reqId, Date.now(), Date.now()).changes === 1),
    release: reqId =>
      database.write(() => {
        remove.run(reqId)
      }),
    find: async (reqId, known = 0) => {
      const row = database.snapshot(() => select.get(known, reqId))
      return row && stored(row)
    },
    keep: (reqId, { text, position }, isWaiting) =>
      database.write(() => {
        append.run(isWaiting ? 'waiting' : 'running', position, text, Date.now(), reqId)
        const row = selectWishes.get(reqId)
        return row && { ending: endingOf(row), stopAsked: row.stop_asked === 1, heard: row.heard }
      }),
    end: (reqId, text, ending) =>
      database.write(() => {
        end.run(ending.state, ending.state === 'failed' ? ending.reason : null, reqId)
        complete.run(text, reqId)
      }),
    askToStop: reqId =>
      database.write(() => {
        if (insertStopped.run(reqId, Date.now(), Date.now()).changes === 0) askToStop.run(reqId)
      }),
    hear: reqId =>
      database.write(() => {
        hear.run(Date.now(), reqId)
      }),
    underWay: async () => {
      // Mostly there is none, and a write holds up others.
      if (database.snapshot(() => selectUnderWay.get()) === null) return []
      const rows = await database.write(() => selectUnderWay.all())
      return rows.map(({ req_id, heartbeat }) => ({ reqId: req_id, heartbeat }))
    },
    interrupt: ({ reqId, heartbeat }) =>
      database.write(() => {
        interrupt.run(reqId, heartbeat)
      }),
  }
}

function stored(row: TextRow): StoredAnswer {
  return { text: row.text, ending: endingOf(row), isWaiting: row.state === 'waiting' }
}

function endingOf({ state, failure }: StateRow): Ending | null {
  if (state === 'waiting' || state === 'running') return null
  return state === 'failed' ? { state, reason: failure ?? '' } : { state }
}
