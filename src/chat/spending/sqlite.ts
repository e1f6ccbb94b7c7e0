import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { SpendingRepository } from './repository.ts'

const DAY_MS = 86_400_000

export function sqliteSpending(database: SqliteDatabase): SpendingRepository {
  const begin = database.prepare<[day: number, account: string, answersMax: number, tokensMax: number]>(`
    INSERT INTO chat_spending (day, account, answers, tokens) VALUES (?, ?, 1, 0)
    ON CONFLICT (day, account) DO UPDATE SET answers = answers + 1 WHERE answers < ? AND tokens < ?`)
  const cancel = database.prepare<[day: number, account: string]>(
    'UPDATE chat_spending SET answers = answers - 1 WHERE day = ? AND account = ?',
  )
  const addTokens = database.prepare<[tokens: number, day: number, account: string]>(
    'UPDATE chat_spending SET tokens = tokens + ? WHERE day = ? AND account = ?',
  )
  const select = database.prepare<[day: number, account: string], { answers: number; tokens: number }>(
    'SELECT answers, tokens FROM chat_spending WHERE day = ? AND account = ?',
  )
  const deleteOld = database.prepare<[day: number]>('DELETE FROM chat_spending WHERE day < ?')
  return {
    begin: (account, { answersMax, tokensMax }) =>
      database.write(() => {
        const day = today()
        return begin.run(day, account, answersMax, tokensMax).changes === 1 ? day : null
      }),
    cancel: (account, day) => database.write(() => cancel.run(day, account)),
    addTokens: (account, day, tokens) => database.write(() => addTokens.run(tokens, day, account)),
    today: async account => {
      const day = today()
      const { answers, tokens } = (await database.snapshot(() => select.get(day, account))) ?? { answers: 0, tokens: 0 }
      return { day, answers, tokens }
    },
    deleteOld: () => database.write(() => deleteOld.run(today())),
  }
}

function today(): number {
  return Math.floor(Date.now() / DAY_MS)
}
