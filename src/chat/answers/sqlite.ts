import type { SqliteDatabase } from '../../database/sqlite.ts'
import type { AnswerRepository, Ending, StoredAnswer } from './repository.ts'

const UNDER_WAY = "state IN ('waiting', 'running')"

interface Row {
  readonly state: 'waiting' | 'running' | Ending['state']
  readonly text: string
  readonly failure: string | null
  readonly stop_asked: 0 | 1
  readonly alive_at: number
  readonly heard_at: number
}

export function sqliteAnswers(database: SqliteDatabase): AnswerRepository {
  const insert = database.prepare<[reqId: string, aliveAt: number, heardAt: number]>(`
    INSERT INTO answers (req_id, state, alive_at, heard_at) VALUES (?, 'waiting', ?, ?) ON CONFLICT DO NOTHING`)
  const insertStopped = database.prepare<[reqId: string, aliveAt: number, heardAt: number]>(`
    INSERT INTO answers (req_id, state, alive_at, heard_at) VALUES (?, 'stopped', ?, ?) ON CONFLICT DO NOTHING`)
  const remove = database.prepare<[reqId: string]>("DELETE FROM answers WHERE req_id = ? AND state = 'waiting'")
  const select = database.prepare<[reqId: string], Row>(
    'SELECT state, text, failure, stop_asked, alive_at, heard_at FROM answers WHERE req_id = ?',
  )
  const change = database.prepare<[state: Row['state'], text: string, aliveAt: number, reqId: string]>(
    `UPDATE answers SET state = ?, text = ?, alive_at = ? WHERE req_id = ? AND ${UNDER_WAY}`,
  )
  const end = database.prepare<[state: Ending['state'], text: string, failure: string | null, reqId: string]>(
    `UPDATE answers SET state = ?, text = ?, failure = ? WHERE req_id = ? AND ${UNDER_WAY}`,
  )
  const askToStop = database.prepare<[reqId: string]>('UPDATE answers SET stop_asked = 1 WHERE req_id = ?')
  const hear = database.prepare<[heardAt: number, reqId: string]>('UPDATE answers SET heard_at = ? WHERE req_id = ?')
  const interrupt = database.prepare<[aliveBefore: number]>(
    `UPDATE answers SET state = 'interrupted' WHERE ${UNDER_WAY} AND alive_at < ?`,
  )

  return {
    claim: reqId => database.write(() => insert.run(reqId, Date.now(), Date.now()).changes === 1),
    release: reqId =>
      database.write(() => {
        remove.run(reqId)
      }),
    find: async reqId => {
      const row = database.snapshot(() => select.get(reqId))
      return row && stored(row)
    },
    keep: (reqId, text, isWaiting) =>
      database.write(() => {
        change.run(isWaiting ? 'waiting' : 'running', text, Date.now(), reqId)
      }),
    end: (reqId, text, ending) =>
      database.write(() => {
        end.run(ending.state, text, ending.state === 'failed' ? ending.reason : null, reqId)
      }),
    askToStop: reqId =>
      database.write(() => {
        if (insertStopped.run(reqId, Date.now(), Date.now()).changes === 0) askToStop.run(reqId)
      }),
    hear: reqId =>
      database.write(() => {
        hear.run(Date.now(), reqId)
      }),
    interruptDead: aliveBefore =>
      database.write(() => {
        interrupt.run(aliveBefore)
      }),
  }
}

function stored({ state, text, failure, stop_asked, alive_at, heard_at }: Row): StoredAnswer {
  const underWay = state === 'waiting' || state === 'running'
  return {
    text,
    ending: underWay ? null : state === 'failed' ? { state, reason: failure ?? '' } : { state },
    isWaiting: state === 'waiting',
    stopAsked: stop_asked === 1,
    aliveAt: alive_at,
    heardAt: heard_at,
  }
}
