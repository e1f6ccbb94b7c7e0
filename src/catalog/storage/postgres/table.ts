import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
import { looksAtValues } from '../query.ts'
import { listSql } from '../query-sql.ts'
import type { StoredResource, Values } from '../resource.ts'
import type { ResourceTable } from '../store.ts'
import { creating } from './creation.ts'
import { countRows, POSTGRES_PARAMETERS, readPage } from './lists.ts'
import { type ReadPage, rowReads } from './reads.ts'
import { PostgresRows } from './rows.ts'
import { postgresWrites } from './writes.ts'

/** Reads and writes one kind of resource. */
export function postgresTable<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
): ResourceTable<Row> {
  const { table } = resource
  const rows = new PostgresRows(resource)
  const create = creating(database, resource, row => rows.found({ row, items: [] }))
  const ask: Query = (sql, ...parameters) => database.read(sql, ...parameters)
  const page: ReadPage<Row> = query => {
    const { where, orderBy, parameters } = listSql(resource, query, POSTGRES_PARAMETERS)
    const revision = looksAtValues(query) ? 'owner.revision' : null
    return readPage(database, ask, query, { from: `${table} AS owner WHERE ${where}`, orderBy, parameters, revision })
  }

  return {
    reads: some => rowReads(database, some, page),
    page,
    count: (query, most) => {
      const { where, parameters } = listSql(resource, query, POSTGRES_PARAMETERS)
      return countRows(database, ask, { from: `${table} AS owner WHERE ${where}`, parameters }, most)
    },
    // The pieces may come from a different replica than the last place.
    canScan: () => database.shownByReplicas(),
    create,
    ...postgresWrites(database, resource, rows),
  }
}
