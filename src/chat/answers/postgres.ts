import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { AnswerRepository, Ending, StoredAnswer, Wishes } from './repository.ts'

const UNDER_WAY = "state IN ('waiting', 'running')"

interface StateRow {
  readonly state: 'waiting' | 'running' | Ending['state']
  readonly failure: string | null
}

interface TextRow extends StateRow {
  readonly text: string
}

interface WishesRow extends StateRow {
  readonly stop_asked: boolean
  readonly heard: string
}

interface UnderWayRow {
  readonly req_id: string
  readonly heartbeat: string
}

/**
 * While an answer grows, each piece is a row of its own, so that no more is written than what came; its end puts the
 * whole text in their place. A piece that is kept late, beside the end, is covered by the whole text.
 */
const TEXT = `
  substr(answer.text, 1 + $2::int) || coalesce((
    SELECT string_agg(piece.text, '' ORDER BY piece.position) FROM answer_pieces AS piece
    WHERE piece.req_id = answer.req_id AND piece.position >= greatest($2::int, char_length(answer.text))
  ), '')`

const FIND = `
  SELECT answer.state, answer.failure, ${TEXT} AS text FROM answers AS answer WHERE answer.req_id = $1::text`

/** What says of a prompt that its answer has begun is in its own row, so that nothing can change it beside the claim. */
const CLAIM = `
  WITH prompt AS (UPDATE prompts SET is_claimed = true WHERE req_id = $1::text RETURNING req_id)
  INSERT INTO answers (req_id, state) SELECT req_id, 'waiting' FROM prompt ON CONFLICT (req_id) DO NOTHING
  RETURNING req_id`

const RELEASE = `
  WITH released AS (DELETE FROM answers WHERE req_id = $1::text AND state = 'waiting' RETURNING req_id)
  UPDATE prompts SET is_claimed = false WHERE req_id IN (SELECT req_id FROM released)`

const KEEP = `
  WITH alive AS (
    UPDATE answers SET state = $2::text, alive_at = now() WHERE req_id = $1::text AND ${UNDER_WAY} RETURNING req_id
  ), kept AS (
    INSERT INTO answer_pieces (req_id, position, text)
    SELECT req_id, $3::int, $4::text FROM alive WHERE $4::text <> ''
    ON CONFLICT (req_id, position) DO NOTHING
  )
  SELECT state, failure, stop_asked, extract(epoch FROM heard_at)::text AS heard
  FROM answers WHERE req_id = $1::text`

const END = `
  WITH ended AS (
    UPDATE answers SET text = $2::text,
      failure = CASE WHEN ${UNDER_WAY} THEN $4::text ELSE failure END,
      state = CASE WHEN ${UNDER_WAY} THEN $3::text ELSE state END
    WHERE req_id = $1::text RETURNING req_id
  )
  DELETE FROM answer_pieces WHERE req_id IN (SELECT req_id FROM ended)`

const ASK_TO_STOP = `
  WITH prompt AS (UPDATE prompts SET is_claimed = true WHERE req_id = $1::text RETURNING req_id)
  INSERT INTO answers (req_id, state) SELECT req_id, 'stopped' FROM prompt
  ON CONFLICT (req_id) DO UPDATE SET stop_asked = true`

const HEAR = 'UPDATE answers SET heard_at = now() WHERE req_id = $1::text'

/** To the microsecond. */
const HEARTBEAT = 'extract(epoch FROM alive_at)::text'

const FIND_UNDER_WAY = `SELECT req_id, ${HEARTBEAT} AS heartbeat FROM answers WHERE ${UNDER_WAY}`

const INTERRUPT = `
  UPDATE answers SET state = 'interrupted' WHERE ${UNDER_WAY} AND req_id = $1::text AND ${HEARTBEAT} = $2::text`

export function postgresAnswers(database: PostgresDatabase): AnswerRepository {
  return {
    claim: async reqId => (await database.write(CLAIM, reqId)).length > 0,
    release: async reqId => {
      await database.write(RELEASE, reqId)
    },
    find: async (reqId, known = 0) => {
      // PostgreSQL stores no such text.
      if (reqId.includes('\0')) return null
      const [row] = await database.read<TextRow>(FIND, reqId, known)
      return row ? stored(row) : null
    },
    keep: async (reqId, { text, position }, isWaiting) => {
      const state = isWaiting ? 'waiting' : 'running'
      const [row] = await database.write<WishesRow>(KEEP, reqId, state, position, text)
      return row ? wishes(row) : null
    },
    end: async (reqId, text, ending) => {
      await database.write(END, reqId, text, ending.state, ending.state === 'failed' ? ending.reason : null)
    },
    askToStop: async reqId => {
      await database.write(ASK_TO_STOP, reqId)
    },
    hear: async reqId => {
      await database.write(HEAR, reqId)
    },
    // As a write, since a replica may lag behind.
    underWay: async () => {
      const rows = await database.write<UnderWayRow>(FIND_UNDER_WAY)
      return rows.map(({ req_id, heartbeat }) => ({ reqId: req_id, heartbeat }))
    },
    interrupt: async ({ reqId, heartbeat }) => {
      await database.write(INTERRUPT, reqId, heartbeat)
    },
  }
}

function stored(row: TextRow): StoredAnswer {
  return { text: row.text, ending: endingOf(row), isWaiting: row.state === 'waiting' }
}

function wishes(row: WishesRow): Wishes {
  return { ending: endingOf(row), stopAsked: row.stop_asked, heard: row.heard }
}

function endingOf({ state, failure }: StateRow): Ending | null {
  if (state === 'waiting' || state === 'running') return null
  return state === 'failed' ? { state, reason: failure ?? '' } : { state }
}
