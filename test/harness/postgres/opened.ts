import { postgresAddress } from '../../../src/database/postgres/address.ts'
import { PostgresDatabase } from '../../../src/database/postgres/database.ts'
import type { PostgresSettings } from '../../../src/database/postgres/servers.ts'

interface Opening extends Partial<Pick<PostgresSettings, 'connections' | 'migrations'>> {
  readonly isPooled?: boolean
  readonly shallDistribute?: boolean
}

/** Opens a database as the programs do. It is ready; if it cannot be, the promise rejects, and nothing stays open. */
export async function openedDatabase(
  url: string,
  { connections = 1, migrations = [], isPooled = false, shallDistribute = false }: Opening = {},
): Promise<PostgresDatabase> {
  await using opening = new AsyncDisposableStack()
  const address = postgresAddress(url, { password: null, isPooled, shallDistribute })
  const database = opening.use(
    await PostgresDatabase.open({ address, replicas: [], connections, migrations, waitMs: 0 }),
  )
  await database.ready
  opening.move()
  return database
}
