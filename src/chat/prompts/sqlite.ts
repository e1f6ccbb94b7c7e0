import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { RECENT_MS, RECENT_UNANSWERED_MS } from './keeping.ts'
import type { PromptRepository } from './repository.ts'

/** Forgotten in one step, so that no write holds up others for long. */
const FORGET_STEP = 64

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
  const removeOldest = database.prepare<[before: number, step: number]>(`
    DELETE FROM prompts WHERE id IN (
      SELECT prompt.id FROM prompts AS prompt
      WHERE prompt.created_at < ? AND NOT EXISTS (
        SELECT 1 FROM answers WHERE answers.req_id = prompt.req_id AND answers.state IN ('waiting', 'running')
      )
      ORDER BY prompt.created_at LIMIT ?
    )`)
  const removeUnanswered = database.prepare<[before: number, step: number]>(`
    DELETE FROM prompts WHERE id IN (
      SELECT id FROM prompts WHERE created_at < ? AND NOT ${IS_ANSWERED}
      ORDER BY count(*) OVER (PARTITION BY address) DESC, created_at LIMIT ?
    )`)
  const removeAddresses = database.prepare<[before: number, step: number]>(`
    UPDATE prompts SET address = NULL WHERE id IN (
      SELECT id FROM prompts WHERE address IS NOT NULL AND created_at < ? LIMIT ?
    )`)

  return {
    keep: ({ reqId, text, address }, perAddressMax) =>
      database.write(() => {
        replace.run(text, reqId)
        const standing = select.get(reqId)
        if (standing) return standing.text
        const now = Date.now()
        const recent = [address, now - RECENT_MS, now - RECENT_UNANSWERED_MS, perAddressMax] as const
        if ((countRecent.get(...recent)?.count ?? 0) >= perAddressMax) return null
        insert.run(reqId, text, address, now)
        return text
      }),
    find: async reqId => database.snapshot(() => select.get(reqId)?.text ?? null),
    count: async () => database.snapshot(() => count.get()?.count ?? 0),
    time: async () => Date.now(),
    forgetOldest: (before, max) => database.write(() => removeOldest.run(before, Math.min(max, FORGET_STEP)).changes),
    forgetUnanswered: (before, max) =>
      database.write(() => removeUnanswered.run(before, Math.min(max, FORGET_STEP)).changes),
    forgetAddresses: before => database.write(() => removeAddresses.run(before, FORGET_STEP).changes),
  }
}
