import type { Migrations } from '../../migrations.ts'
import changeLog from './database_0001.sql' with { type: 'text' }

/** For every file, whatever parts use it. */
export const fileMigrations: Migrations = {
  part: 'database',
  sqlite: [{ name: 'database_0001', sql: changeLog }],
  postgres: [],
  citus: [],
}
