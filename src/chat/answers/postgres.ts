import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { IN_PROGRESS } from '../in-progress.ts'
import type { AnswerRepository, InProgress } from './repository.ts'
import { type AnswerRow, type HeartbeatRow, heartbeatReply, storedAnswer, storedFailure } from './rows.ts'

/**
 * SQL for an answer's text after the first `offset` characters. While an answer grows, each piece is a row of its own, so
 * that only new text is written; the end of the answer replaces these rows by the whole text. A piece that is stored late,
 * at the same moment as the end, is already part of the whole text.
 */
export function textAfter(offset: string): string {
  return `
    substr(answers.text, 1 + ${offset}) || coalesce((
      SELECT string_agg(piece.text, '' ORDER BY piece.position) FROM answer_pieces AS piece
      WHERE piece.req_id = answers.req_id AND piece.position >= greatest(${offset}, char_length(answers.text))
    ), '')`
}

const FIND = `SELECT state, failure, ${textAfter('$2::int')} AS text FROM answers WHERE req_id = $1::text`

/** The prompt's own row says that its answer has begun, so that nothing can change the prompt during the claim. */
const CLAIM = `
  WITH prompt AS (
    UPDATE prompts SET is_claimed = true WHERE req_id = $1::text RETURNING req_id, text
  ), claimed AS (
    INSERT INTO answers (req_id, state) SELECT req_id, 'waiting' FROM prompt ON CONFLICT (req_id) DO NOTHING
    RETURNING req_id
  )
  SELECT text FROM prompt JOIN claimed USING (req_id)`

const RELEASE = `
  WITH released AS (DELETE FROM answers WHERE req_id = $1::text AND state = 'waiting' RETURNING req_id)
  UPDATE prompts SET is_claimed = false WHERE req_id IN (SELECT req_id FROM released)`

const HEARTBEAT = `
  WITH alive AS (
    UPDATE answers SET state = $2::text, alive_at = now() WHERE req_id = $1::text AND ${IN_PROGRESS} RETURNING req_id
  ), stored AS (
    INSERT INTO answer_pieces (req_id, position, text)
    SELECT req_id, $3::int, $4::text FROM alive WHERE $4::text <> ''
    ON CONFLICT (req_id, position) DO NOTHING
  )
  SELECT state, failure, stop_asked, extract(epoch FROM heard_at)::text AS heard
  FROM answers WHERE req_id = $1::text`

const END = `
  WITH ended AS (
    UPDATE answers SET text = $2::text,
      failure = CASE WHEN ${IN_PROGRESS} THEN $4::text ELSE failure END,
      state = CASE WHEN ${IN_PROGRESS} THEN $3::text ELSE state END
    WHERE req_id = $1::text RETURNING req_id
  )
  DELETE FROM answer_pieces WHERE req_id IN (SELECT req_id FROM ended)`

const REQUEST_STOP = `
  WITH prompt AS (UPDATE prompts SET is_claimed = true WHERE req_id = $1::text RETURNING req_id)
  INSERT INTO answers (req_id, state) SELECT req_id, 'stopped' FROM prompt
  ON CONFLICT (req_id) DO UPDATE SET
    stop_asked = true, state = CASE answers.state WHEN 'waiting' THEN 'stopped' ELSE answers.state END`

const REPORT_LISTENER = 'UPDATE answers SET heard_at = now() WHERE req_id = $1::text'

/** To the microsecond. */
const ALIVE_AT = 'extract(epoch FROM alive_at)::text'

const FIND_IN_PROGRESS = `SELECT req_id AS "reqId", ${ALIVE_AT} AS heartbeat FROM answers WHERE ${IN_PROGRESS}`

const INTERRUPT = `
  UPDATE answers SET state = 'interrupted' WHERE ${IN_PROGRESS} AND req_id = $1::text AND ${ALIVE_AT} = $2::text`

export function postgresAnswers(database: PostgresDatabase): AnswerRepository {
  return {
    claim: async reqId => (await database.write<{ text: string }>(CLAIM, reqId))[0]?.text ?? null,
    release: reqId => database.write(RELEASE, reqId),
    find: async (reqId, offset = 0) => {
      const [row] = await database.read<AnswerRow>(FIND, reqId, offset)
      return row ? storedAnswer(row) : null
    },
    heartbeat: async (reqId, { text, position }, isWaiting) => {
      const state = isWaiting ? 'waiting' : 'running'
      const [row] = await database.write<HeartbeatRow>(HEARTBEAT, reqId, state, position, text)
      return row ? heartbeatReply(row) : null
    },
    end: (reqId, text, ending) => database.write(END, reqId, text, ending.state, storedFailure(ending)),
    requestStop: reqId => database.write(REQUEST_STOP, reqId),
    reportListener: reqId => database.write(REPORT_LISTENER, reqId),
    // As a write, because a replica may lag behind.
    inProgress: () => database.write<InProgress>(FIND_IN_PROGRESS),
    interrupt: ({ reqId, heartbeat }) => database.write(INTERRUPT, reqId, heartbeat),
  }
}
