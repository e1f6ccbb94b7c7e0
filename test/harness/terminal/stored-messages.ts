import { connected } from '../postgres/database.ts'
import type { TalkPlace } from './talk.ts'

interface StoredMessage {
  readonly room: string
  readonly sender: string
  readonly text: string
  /** In milliseconds since 1970. */
  readonly sent_at: number
}

/** All messages of a database, as its tables have them. */
export function storedMessages({ databaseUrl }: TalkPlace): Promise<readonly StoredMessage[]> {
  const select = databaseUrl.startsWith('sqlite:')
    ? 'SELECT room, sender, text, sent_at FROM messages'
    : 'SELECT room, sender, text, (extract(epoch FROM sent_at) * 1000)::float8 AS sent_at FROM messages'
  return rowsOf<StoredMessage>(databaseUrl, `${select} ORDER BY messages.id`)
}

export function storedAccounts({ databaseUrl }: TalkPlace): Promise<readonly object[]> {
  return rowsOf(databaseUrl, 'SELECT username, password_sha256 FROM accounts')
}

async function rowsOf<Row>(databaseUrl: string, select: string): Promise<Row[]> {
  await using sql = connected(databaseUrl)
  return [...(await sql.unsafe<Row[]>(select))]
}
