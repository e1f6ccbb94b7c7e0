import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { IN_PROGRESS } from '../in-progress.ts'
import type { PromptRepository } from './repository.ts'
import { RECENT_MS, RECENT_UNANSWERED_MS } from './retention.ts'

/** Number of prompts deleted in one write, so that other writes are not delayed for long. */
const DELETE_BATCH_MAX = 64

const IS_ANSWERED = 'EXISTS (SELECT 1 FROM answers WHERE answers.req_id = prompts.req_id)'

export function sqlitePrompts(database: SqliteDatabase): PromptRepository {
  const select = database.prepare<[reqId: string], { text: string }>('SELECT text FROM prompts WHERE req_id = ?')
  const replace = database.prepare<[text: string, reqId: string]>(
    `UPDATE prompts SET text = ? WHERE req_id = ? AND NOT ${IS_ANSWERED}`,
  )
  const countRecent = database.prepare<[address: string, day: number, hour: number, max: number], { count: number }>(`
    SELECT count(*) AS count FROM (
      SELECT 1 FROM prompts WHERE address = ? AND created_at > ? AND (created_at > ? OR ${IS_ANSWERED}) LIMIT ?
    )`)
  const insert = database.prepare<[reqId: string, text: string, address: string, createdAt: number]>(
    'INSERT INTO prompts (req_id, text, address, created_at) VALUES (?, ?, ?, ?)',
  )
  const count = database.prepare<[], { count: number }>('SELECT count(*) AS count FROM prompts')
  const deleteOldest = database.prepare<[before: number, step: number]>(`
    DELETE FROM prompts WHERE id IN (
      SELECT prompt.id FROM prompts AS prompt
      WHERE prompt.created_at < ? AND NOT EXISTS (
        SELECT 1 FROM answers WHERE answers.req_id = prompt.req_id AND ${IN_PROGRESS}
      )
      ORDER BY prompt.created_at LIMIT ?
    )`)
  const deleteUnanswered = database.prepare<[before: number, step: number]>(`
    DELETE FROM prompts WHERE id IN (
      SELECT id FROM prompts WHERE created_at < ? AND NOT ${IS_ANSWERED}
      ORDER BY count(*) OVER (PARTITION BY address) DESC, created_at LIMIT ?
    )`)
  const removeAddresses = database.prepare<[before: number, step: number]>(`
    UPDATE prompts SET address = NULL WHERE id IN (
      SELECT id FROM prompts WHERE address IS NOT NULL AND created_at < ? LIMIT ?
    )`)

  return {
    store: ({ reqId, text, address }, perAddressMax) =>
      database.write(() => {
        replace.run(text, reqId)
        const stored = select.get(reqId)
        if (stored) return stored.text
        const now = Date.now()
        const recent = [address, now - RECENT_MS, now - RECENT_UNANSWERED_MS, perAddressMax] as const
        if ((countRecent.get(...recent)?.count ?? 0) >= perAddressMax) return null
        insert.run(reqId, text, address, now)
        return text
      }),
    find: async reqId => database.snapshot(() => select.get(reqId)?.text ?? null),
    count: async () => database.snapshot(() => count.get()?.count ?? 0),
    time: async () => Date.now(),
    deleteOldest: (before, max) =>
      database.write(() => deleteOldest.run(before, Math.min(max, DELETE_BATCH_MAX)).changes),
    deleteUnanswered: (before, max) =>
      database.write(() => deleteUnanswered.run(before, Math.min(max, DELETE_BATCH_MAX)).changes),
    removeAddresses: before => database.write(() => removeAddresses.run(before, DELETE_BATCH_MAX).changes),
  }
}
