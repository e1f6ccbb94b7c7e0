import { expect, setDefaultTimeout, test } from 'bun:test'
import { connected, createDatabase } from '../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { postgresAddress } from './address.ts'
import { PostgresDatabase } from './database.ts'

setDefaultTimeout(120_000)

/** Opens a database with one migration, and closes it again. */
async function migrated(url: string, sql: string): Promise<void> {
  const migrations = [{ part: 'shelves', sqlite: [], postgres: [{ name: 'shelves_0001', sql }], citus: [] }]
  const address = postgresAddress(url, { password: null, isPooled: false, shallDistribute: false })
  await using database = await PostgresDatabase.open({ address, replicas: [], connections: 1, migrations, waitMs: 0 })
  await database.ready
}

test('a migration may have comments, and semicolons in its texts and function bodies', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await migrated(
    database.url,
    `-- Shelves; and what's on them.
    CREATE TABLE shelves (name text DEFAULT 'left; right -- above');
    INSERT INTO shelves DEFAULT VALUES;
    DO $$ BEGIN INSERT INTO shelves VALUES ('one'); INSERT INTO shelves VALUES ('two'); END $$;`,
  )
  await using sql = connected(database.url)
  const names: { name: string }[] = await sql`SELECT name FROM shelves`
  expect(names.map(({ name }) => name)).toEqual(['left; right -- above', 'one', 'two'])
})

test('a migration that fails leaves nothing behind, and is applied once it has been corrected', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  const failing = migrated(database.url, 'CREATE TABLE shelves (name text); INSERT INTO boxes DEFAULT VALUES')
  expect(failing).rejects.toThrow(/boxes/)
  await failing.catch(() => {})
  await migrated(database.url, 'CREATE TABLE shelves (name text); INSERT INTO shelves DEFAULT VALUES')
  await using sql = connected(database.url)
  expect(await sql`SELECT name FROM migrations`).toHaveLength(1)
  expect(await sql`SELECT name FROM shelves`).toHaveLength(1)
})
