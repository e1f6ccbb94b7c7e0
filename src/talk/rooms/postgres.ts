import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { type MessageRow, MODEL_SENDER, messageOf, type RoomRepository } from './repository.ts'

const REGISTER = `
  WITH registered AS (
    INSERT INTO accounts (username, password_sha256) VALUES ($1::text, $2::text)
    ON CONFLICT (username) DO NOTHING RETURNING username
  )
  INSERT INTO rooms (name) SELECT username FROM registered RETURNING name`
const SELECT_DIGEST = 'SELECT password_sha256 AS digest FROM accounts WHERE username = $1::text'

/** Times are milliseconds since 1970. */
const COLUMNS = `
  message.id::float8 AS id, message.sender, message.text, (extract(epoch FROM message.sent_at) * 1000)::float8 AS sent_at,
  message.answer_to::float8 AS answer_to, message.stopped`
const LAST = `
  SELECT ${COLUMNS} FROM (
    SELECT * FROM messages WHERE room = $1::text ORDER BY id DESC LIMIT $2::bigint
  ) AS message`
/** Each answer follows its prompt, even if two terminals asked at the same time. */
const BY_TURN = 'ORDER BY coalesce(message.answer_to, message.id), message.id'

/** Locks the room until the prompt is stored. Of two prompts at the same time, the second sees the first. */
const LOCK_ROOM = 'SELECT name FROM rooms WHERE name = $1::text FOR UPDATE'
const INSERT_PROMPT = `
  INSERT INTO messages (room, sender, text) VALUES ($1::text, $1::text, $2::text) RETURNING id::float8 AS id`
const INSERT_ANSWER = `
  INSERT INTO messages (room, sender, text, answer_to, stopped)
  SELECT room, $2::text, $3::text, id, $4::bigint = 1 FROM messages WHERE id = $1::bigint RETURNING id`
const SELECT_TURNS = `
  SELECT ${COLUMNS} FROM (
    SELECT id FROM messages WHERE room = $1::text AND answer_to IS NULL AND id > $2::bigint ORDER BY id LIMIT $3::bigint
  ) AS prompt
  JOIN messages AS message ON message.id = prompt.id OR message.answer_to = prompt.id ${BY_TURN}`
const SELECT_PROMPTS = `
  SELECT text FROM messages WHERE room = $1::text AND answer_to IS NULL ORDER BY id DESC LIMIT $2::bigint`

export function postgresRooms(database: PostgresDatabase): RoomRepository {
  return {
    register: async (username, passwordDigest) => (await database.write(REGISTER, username, passwordDigest)).length > 0,
    passwordDigest: async username => {
      // PostgreSQL cannot store U+0000, so there is no such account.
      if (username.includes('\0')) return null
      const [account] = await database.read<{ digest: string }>(SELECT_DIGEST, username)
      return account?.digest ?? null
    },
    addPrompt: (room, text, limit) =>
      database.transaction(async query => {
        await query(LOCK_ROOM, room)
        const before = await query<MessageRow>(`${LAST} ORDER BY message.id`, room, limit)
        const [added] = await query<{ id: number }>(INSERT_PROMPT, room, text)
        if (!added) throw new Error('the inserted prompt has no id')
        return { id: added.id, before: before.map(messageOf) }
      }),
    addAnswer: async (promptId, text, stopped) =>
      (await database.write(INSERT_ANSWER, promptId, MODEL_SENDER, text, stopped ? 1 : 0)).length > 0,
    last: async (room, limit) => (await database.read<MessageRow>(`${LAST} ${BY_TURN}`, room, limit)).map(messageOf),
    turns: async (room, afterPromptId, limit) =>
      (await database.read<MessageRow>(SELECT_TURNS, room, afterPromptId, limit)).map(messageOf),
    prompts: async (room, limit) =>
      (await database.read<{ text: string }>(SELECT_PROMPTS, room, limit)).map(({ text }) => text),
    count: async room => {
      const [found] = await database.read<{ count: number }>(
        'SELECT count(*)::float8 AS count FROM messages WHERE room = $1::text',
        room,
      )
      return found?.count ?? 0
    },
    deleteMessages: room => database.write('DELETE FROM messages WHERE room = $1::text', room),
  }
}
