import type { Migrations } from '../../database/migrations.ts'
// Imported as text, because the compiled program has no folder to read them from.
import postgres from './postgres/0002_chat.sql' with { type: 'text' }
import postgresPromptAddresses from './postgres/0005_chat_prompt_addresses.sql' with { type: 'text' }
import postgresSpendingAndSessions from './postgres/0013_chat_spending_and_sessions.sql' with { type: 'text' }
import sqlite from './sqlite/0002_chat.sql' with { type: 'text' }
import sqlitePromptAddresses from './sqlite/0005_chat_prompt_addresses.sql' with { type: 'text' }
import sqliteSpendingAndSessions from './sqlite/0013_chat_spending_and_sessions.sql' with { type: 'text' }

export const chatMigrations: Migrations = {
  part: 'chat',
  sqlite: [
    { name: '0002_chat', sql: sqlite },
    { name: '0005_chat_prompt_addresses', sql: sqlitePromptAddresses },
    { name: '0013_chat_spending_and_sessions', sql: sqliteSpendingAndSessions },
  ],
  postgres: [
    { name: '0002_chat', sql: postgres },
    { name: '0005_chat_prompt_addresses', sql: postgresPromptAddresses },
    { name: '0013_chat_spending_and_sessions', sql: postgresSpendingAndSessions },
  ],
}
