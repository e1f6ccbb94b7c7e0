import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/0003_talk.sql' with { type: 'text' }
import postgresKeys from './postgres/0006_talk_keys.sql' with { type: 'text' }
import sqlite from './sqlite/0003_talk.sql' with { type: 'text' }
import sqliteKeys from './sqlite/0006_talk_keys.sql' with { type: 'text' }

export const talkMigrations: Migrations = {
  part: 'talk',
  sqlite: [
    { name: '0003_talk', sql: sqlite },
    { name: '0006_talk_keys', sql: sqliteKeys },
  ],
  postgres: [
    { name: '0003_talk', sql: postgres },
    { name: '0006_talk_keys', sql: postgresKeys },
  ],
}
