import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { SpendingRepository } from './repository.ts'

const TODAY = 'floor(extract(epoch FROM now()) / 86400)::int'

const BEGIN = `
  INSERT INTO chat_spending AS spent (day, account, answers, tokens) VALUES (${TODAY}, $1::text, 1, 0)
  ON CONFLICT (day, account) DO UPDATE SET answers = spent.answers + 1
  WHERE spent.answers < $2::bigint AND spent.tokens < $3::bigint
  RETURNING day`

const CANCEL = 'UPDATE chat_spending SET answers = answers - 1 WHERE day = $1::int AND account = $2::text'

const ADD_TOKENS = 'UPDATE chat_spending SET tokens = tokens + $3::bigint WHERE day = $1::int AND account = $2::text'

const FIND_TODAY = `
  SELECT today.day, coalesce(answers, 0)::float8 AS answers, coalesce(tokens, 0)::float8 AS tokens
  FROM (SELECT ${TODAY} AS day) AS today
  LEFT JOIN chat_spending AS spent ON spent.day = today.day AND spent.account = $1::text`

const DELETE_OLD = `DELETE FROM chat_spending WHERE day < ${TODAY}`

export function postgresSpending(database: PostgresDatabase): SpendingRepository {
  return {
    begin: async (account, { answersMax, tokensMax }) => {
      const [row] = await database.write<{ day: number }>(BEGIN, account, answersMax, tokensMax)
      return row?.day ?? null
    },
    cancel: (account, day) => database.write(CANCEL, day, account),
    addTokens: (account, day, tokens) => database.write(ADD_TOKENS, day, account, tokens),
    // As a write, because a replica has a clock of its own.
    today: async account => {
      const [row] = await database.write<{ day: number; answers: number; tokens: number }>(FIND_TODAY, account)
      if (!row) throw new Error('the database returned no day')
      return row
    },
    deleteOld: () => database.write(DELETE_OLD),
  }
}
