import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Parameter } from '../../../database/postgres/pool.ts'
import { POSTGRES_PARAMETERS } from '../postgres/lists.ts'
import { type ReadPage, scanning } from '../postgres/reads.ts'
import { columnSql, PostgresRows } from '../postgres/rows.ts'
import { type ListQuery, looksAtValues } from '../query.ts'
import { listSql, type ParameterSql, type PlacedRow, pageOfRows, placeColumns } from '../query-sql.ts'
import type { StoredResource, Values } from '../resource.ts'
import type { ResourceTable } from '../store.ts'
import { Places } from './places.ts'
import { rowReader } from './rows.ts'
import { readAcross, shardColumn } from './shards.ts'
import { shownIds } from './shown-ids.ts'
import { citusWrites } from './writes.ts'

const PARAMETERS: ParameterSql = {
  ...POSTGRES_PARAMETERS,
  // Without a subquery, Citus knows which shards to ask.
  isAmong: (column, number) => `${column} = ANY ($${number}::bigint[])`,
}

/** Counts up to this limit fetch the ids, and need not look at all rows of the list. */
const FETCHED_COUNT_MAX = 10_000

/** Reads and writes one kind of resource on Citus. */
export function citusTable<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
): ResourceTable<Row> {
  const { table } = resource
  const rows = new PostgresRows(resource)
  const places = new Places(table)
  const shown = shownIds(database, table)

  /** Runs the statement of a list, with what it may show as a further condition. */
  const readList = async <Selected>(
    query: ListQuery<Row>,
    sql: (list: { where: string; orderBy: string; next: number }) => string,
    ...further: Parameter[]
  ): Promise<Selected[]> => {
    const { where, orderBy, parameters } = listSql(resource, query, PARAMETERS)
    if (shardColumn(table) === null) {
      return database.read(sql({ where, orderBy, next: parameters.length + 1 }), ...parameters, ...further)
    }
    if (isOnOneShard(query, table)) {
      return database.readShard(table, sql({ where, orderBy, next: parameters.length + 1 }), ...parameters, ...further)
    }
    const last = await shown()
    const bounded = `${where} AND owner.id <= $${parameters.length + 1}::bigint`
    const statement = sql({ where: bounded, orderBy, next: parameters.length + 2 })
    return readAcross(database, table, ask => ask<Selected>(statement, ...parameters, last, ...further))
  }

  const page: ReadPage<Row> = async query => {
    const { order, from, limit } = query
    const revision = looksAtValues(query) ? ', owner.revision::float8 AS revision' : ''
    const columns = `owner.id::float8 AS id${revision}${placeColumns(resource, order, columnSql)}${placeColumn(places)}`
    const found = await readList<PlacedRow>(
      query,
      ({ where, orderBy, next }) =>
        `SELECT ${columns} FROM ${table} AS owner
        WHERE ${where} ORDER BY ${orderBy} LIMIT $${next}::bigint OFFSET $${next + 1}::bigint`,
      limit + 1,
      from.skip,
    )
    for (const row of found) places.note(row)
    return pageOfRows(query, found)
  }

  return {
    reads: some => {
      const read = rowReader(database, some, places)
      return { read, scan: scanning(page, read) }
    },
    page,
    count: async (query, most) => {
      // A limited subquery would write a file on the coordinator.
      if (most <= FETCHED_COUNT_MAX) {
        const found = await readList(
          query,
          ({ where, next }) => `SELECT owner.id FROM ${table} AS owner WHERE ${where} LIMIT $${next}::bigint`,
          most,
        )
        return found.length
      }
      const [row] = await readList<{ number: number }>(
        query,
        ({ where }) => `SELECT count(*)::float8 AS number FROM ${table} AS owner WHERE ${where}`,
      )
      return Math.min(row?.number ?? 0, most)
    },
    canScan: async () => {},
    ...citusWrites(database, resource, { rows, places }),
  }
}

/** Whether one shard has all rows of a list. */
function isOnOneShard<Row extends Values>({ where }: ListQuery<Row>, table: StoredResource<Row>['table']): boolean {
  return where.some(
    condition =>
      condition.column === shardColumn(table) &&
      (condition.is === '=' || (condition.is === 'in' && condition.value.length === 1)),
  )
}

function placeColumn({ column }: Places): string {
  return column === null ? '' : `, ${columnSql('owner', column, 'integer')} AS ${column}`
}
