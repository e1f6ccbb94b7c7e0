import { Database } from 'bun:sqlite'
import { expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { openSqlite } from '../../database/sqlite/open.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { repositoriesOf } from '../repositories.ts'

test('every statement of the catalog finds its rows by an index, and sorts nothing', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'stockroom.db')
  await using database = openSqlite(path, [catalogMigrations])
  using prepare = spyOn(database, 'prepare')
  repositoriesOf(database, 0)
  const statements = prepare.mock.calls.map(([sql]) => sql)
  expect(statements.length).toBeGreaterThan(40)
  using file = new Database(path)
  for (const sql of statements) {
    const plan = file.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', '+?')}`).all()
    for (const { detail } of plan) {
      expect(detail, sql).not.toMatch(/^SCAN \w+( AS "?\w+"?)?$/)
      expect(detail, sql).not.toContain('TEMP B-TREE')
    }
  }
})
