import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { KEEPING, type Keeping } from './keeping.ts'
import type { PromptRepository } from './repository.ts'

/** Forgotten in one step, so that no write holds up others for long. More than one, or keeping could outrun forgetting. */
const FORGET_STEP = 16

export function sqlitePrompts(database: SqliteDatabase, { promptsMax, ageMaxMs }: Keeping = KEEPING): PromptRepository {
  const upsert = database.prepare<[reqId: string, text: string, createdAt: number]>(`
    INSERT INTO prompts (req_id, text, created_at) VALUES (?, ?, ?)
    ON CONFLICT (req_id) DO UPDATE SET text = excluded.text
    WHERE NOT EXISTS (SELECT 1 FROM answers WHERE answers.req_id = prompts.req_id)`)
  const select = database.prepare<[reqId: string], { text: string }>('SELECT text FROM prompts WHERE req_id = ?')
  const removeTooMany = database.prepare<[promptsMax: number, step: number]>(
    forgetting('prompt.id <= (SELECT max(id) FROM prompts) - ?', 'prompt.id'),
  )
  const removeTooOld = database.prepare<[before: number, step: number]>(
    forgetting('prompt.created_at < ?', 'prompt.created_at'),
  )

  const forget = () =>
    removeTooMany.run(promptsMax, FORGET_STEP).changes + removeTooOld.run(Date.now() - ageMaxMs, FORGET_STEP).changes

  return {
    keep: (reqId, text) =>
      database.write(() => {
        upsert.run(reqId, text, Date.now())
        forget()
        return select.get(reqId)?.text ?? text
      }),
    find: async reqId => database.snapshot(() => select.get(reqId)?.text ?? null),
    forgetSome: () => database.write(forget),
  }
}

function forgetting(condition: string, order: string): string {
  return `
    DELETE FROM prompts WHERE id IN (
      SELECT prompt.id FROM prompts AS prompt
      WHERE ${condition} AND NOT EXISTS (
        SELECT 1 FROM answers WHERE answers.req_id = prompt.req_id AND answers.state IN ('waiting', 'running')
      )
      ORDER BY ${order} LIMIT ?
    )`
}
