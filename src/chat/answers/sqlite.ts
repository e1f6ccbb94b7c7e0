import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { IN_PROGRESS } from '../in-progress.ts'
import type { AnswerRepository, Ending, InProgress } from './repository.ts'
import { type AnswerRow, type HeartbeatRow, heartbeatReply, storedAnswer, storedFailure } from './rows.ts'

export function sqliteAnswers(database: SqliteDatabase): AnswerRepository {
  const insert = database.prepare<
    [state: 'waiting' | 'stopped', aliveAt: number, heardAt: number, reqId: string],
    { text: string }
  >(`
    INSERT INTO answers (req_id, state, alive_at, heard_at) SELECT req_id, ?, ?, ? FROM prompts WHERE req_id = ?
    ON CONFLICT DO NOTHING RETURNING (SELECT text FROM prompts WHERE prompts.req_id = answers.req_id) AS text`)
  const remove = database.prepare<[reqId: string]>("DELETE FROM answers WHERE req_id = ? AND state = 'waiting'")
  const select = database.prepare<[offset: number, reqId: string], AnswerRow>(
    'SELECT state, failure, substr(text, 1 + ?) AS text FROM answers WHERE req_id = ?',
  )
  const selectReply = database.prepare<[reqId: string], HeartbeatRow>(
    'SELECT state, failure, stop_asked, CAST(heard_at AS TEXT) AS heard FROM answers WHERE req_id = ?',
  )
  const append = database.prepare<[state: string, position: number, text: string, aliveAt: number, reqId: string]>(
    `UPDATE answers SET state = ?, text = substr(text, 1, ?) || ?, alive_at = ? WHERE req_id = ? AND ${IN_PROGRESS}`,
  )
  const end = database.prepare<[state: Ending['state'], failure: string | null, reqId: string]>(
    `UPDATE answers SET state = ?, failure = ? WHERE req_id = ? AND ${IN_PROGRESS}`,
  )
  const complete = database.prepare<[text: string, reqId: string]>('UPDATE answers SET text = ? WHERE req_id = ?')
  const requestStop = database.prepare<[reqId: string]>(`
    UPDATE answers SET stop_asked = 1, state = CASE state WHEN 'waiting' THEN 'stopped' ELSE state END WHERE req_id = ?`)
  const reportListener = database.prepare<[heardAt: number, reqId: string]>(
    'UPDATE answers SET heard_at = ? WHERE req_id = ?',
  )
  const selectInProgress = database.prepare<[], InProgress>(
    `SELECT req_id AS reqId, CAST(alive_at AS TEXT) AS heartbeat FROM answers WHERE ${IN_PROGRESS}`,
  )
  const interrupt = database.prepare<[reqId: string, heartbeat: string]>(`
    UPDATE answers SET state = 'interrupted' WHERE ${IN_PROGRESS} AND req_id = ? AND alive_at = CAST(? AS INTEGER)`)

  return {
    claim: reqId => database.write(() => insert.get('waiting', Date.now(), Date.now(), reqId)?.text ?? null),
    release: reqId => database.write(() => remove.run(reqId)),
    find: async (reqId, offset = 0) => {
      const row = await database.snapshot(() => select.get(offset, reqId))
      return row && storedAnswer(row)
    },
    heartbeat: (reqId, { text, position }, isWaiting) =>
      database.write(() => {
        append.run(isWaiting ? 'waiting' : 'running', position, text, Date.now(), reqId)
        const row = selectReply.get(reqId)
        return row && heartbeatReply(row)
      }),
    end: (reqId, text, ending) =>
      database.write(() => {
        end.run(ending.state, storedFailure(ending), reqId)
        complete.run(text, reqId)
      }),
    requestStop: reqId =>
      database.write(() => {
        if (!insert.get('stopped', Date.now(), Date.now(), reqId)) requestStop.run(reqId)
      }),
    reportListener: reqId => database.write(() => reportListener.run(Date.now(), reqId)),
    inProgress: async () => {
      // Usually there are none, and a write would delay others.
      if (database.look(() => selectInProgress.get()) === null) return []
      return database.write(() => selectInProgress.all())
    },
    interrupt: ({ reqId, heartbeat }) => database.write(() => interrupt.run(reqId, heartbeat)),
  }
}
