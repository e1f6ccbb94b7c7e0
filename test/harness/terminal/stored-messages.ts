import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
  const select = isSqlite(databaseUrl)
    ? 'SELECT room, sender, text, sent_at FROM messages'
    : 'SELECT room, sender, text, (extract(epoch FROM sent_at) * 1000)::float8 AS sent_at FROM messages'
  return rowsOf<StoredMessage>(databaseUrl, `${select} ORDER BY messages.id`)
}

export function storedAccounts({ databaseUrl }: TalkPlace): Promise<readonly object[]> {
  return rowsOf(databaseUrl, 'SELECT username, password_sha256 FROM accounts')
}

/** Whether a text is anywhere in an SQLite database's files or a PostgreSQL database's tables. */
export async function isStored(text: string, { databaseUrl }: TalkPlace): Promise<boolean> {
  if (isSqlite(databaseUrl)) {
    const folder = dirname(databaseUrl.slice('sqlite:'.length))
    const files = readdirSync(folder).filter(name => name.startsWith('stockroom.db'))
    return files.some(name => readFileSync(join(folder, name)).includes(text))
  }
  const tables = await rowsOf<{ name: string }>(
    databaseUrl,
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'",
  )
  for (const { name } of tables) {
    const rows = await rowsOf<{ row: string }>(databaseUrl, `SELECT "${name}"::text AS row FROM "${name}"`)
    if (rows.some(({ row }) => row.includes(text))) return true
  }
  return false
}

function isSqlite(databaseUrl: string): boolean {
  return databaseUrl.startsWith('sqlite:')
}

async function rowsOf<Row>(databaseUrl: string, select: string): Promise<Row[]> {
  await using sql = connected(databaseUrl)
  return [...(await sql.unsafe<Row[]>(select))]
}
