import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { type MessageRow, MODEL_SENDER, messageOf, type RoomRepository } from './repository.ts'

const COLUMNS = 'message.id, sender, text, sent_at, answer_to, stopped'
const LAST = `
  SELECT * FROM (SELECT ${COLUMNS} FROM messages AS message WHERE room = ? ORDER BY id DESC LIMIT ?)`
/** Each answer follows its prompt, even if two terminals asked at the same time. */
const BY_TURN = 'ORDER BY coalesce(answer_to, id), id'

export function sqliteRooms(database: SqliteDatabase): RoomRepository {
  const insertAccount = database.prepare<[username: string, passwordDigest: string, createdAt: number]>(`
    INSERT INTO accounts (username, password_sha256, created_at) VALUES (?, ?, ?)
    ON CONFLICT (username) DO NOTHING`)
  const insertRoom = database.prepare<[name: string]>('INSERT INTO rooms (name) VALUES (?)')
  const selectDigest = database.prepare<[username: string], { digest: string }>(
    'SELECT password_sha256 AS digest FROM accounts WHERE username = ?',
  )
  const insertPrompt = database.prepare<[room: string, sender: string, text: string, sentAt: number]>(`
    INSERT INTO messages (room, sender, text, sent_at) VALUES (?, ?, ?, ?)`)
  const insertAnswer = database.prepare<
    [sender: string, text: string, sentAt: number, stopped: number, promptId: number]
  >(`
    INSERT INTO messages (room, sender, text, sent_at, answer_to, stopped)
    SELECT room, ?, ?, ?, id, ? FROM messages WHERE id = ?`)
  const selectLast = database.prepare<[room: string, limit: number], MessageRow>(`${LAST} ORDER BY id`)
  const selectLastByTurn = database.prepare<[room: string, limit: number], MessageRow>(`${LAST} ${BY_TURN}`)
  const selectTurns = database.prepare<[room: string, afterPromptId: number, limit: number], MessageRow>(`
    SELECT ${COLUMNS} FROM (
      SELECT id AS prompt_id FROM messages WHERE room = ? AND answer_to IS NULL AND id > ? ORDER BY id LIMIT ?
    ) JOIN messages AS message ON message.id = prompt_id OR message.answer_to = prompt_id
    ${BY_TURN}`)
  const selectPrompts = database.prepare<[room: string, limit: number], { text: string }>(
    'SELECT text FROM messages WHERE room = ? AND answer_to IS NULL ORDER BY id DESC LIMIT ?',
  )
  const selectCount = database.prepare<[room: string], { count: number }>(
    'SELECT count(*) AS count FROM messages WHERE room = ?',
  )
  const remove = database.prepare<[room: string]>('DELETE FROM messages WHERE room = ?')

  return {
    register: (username, passwordDigest) =>
      database.write(() => {
        if (insertAccount.run(username, passwordDigest, Date.now()).changes === 0) return false
        insertRoom.run(username)
        return true
      }),
    passwordDigest: async username => database.snapshot(() => selectDigest.get(username)?.digest ?? null),
    addPrompt: (room, text, limit) =>
      database.write(() => {
        const before = selectLast.all(room, limit).map(messageOf)
        const { lastInsertRowid } = insertPrompt.run(room, room, text, Date.now())
        return { id: Number(lastInsertRowid), before }
      }),
    addAnswer: (promptId, text, stopped) =>
      database.write(() => insertAnswer.run(MODEL_SENDER, text, Date.now(), stopped ? 1 : 0, promptId).changes > 0),
    last: async (room, limit) => database.snapshot(() => selectLastByTurn.all(room, limit).map(messageOf)),
    turns: async (room, afterPromptId, limit) =>
      database.snapshot(() => selectTurns.all(room, afterPromptId, limit).map(messageOf)),
    prompts: async (room, limit) => database.snapshot(() => selectPrompts.all(room, limit).map(({ text }) => text)),
    count: async room => database.snapshot(() => selectCount.get(room)?.count ?? 0),
    deleteMessages: room => database.erase(() => remove.run(room)),
  }
}
