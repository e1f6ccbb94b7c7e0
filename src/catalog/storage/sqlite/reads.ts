import type { Awaitable } from '../../../awaitable.ts'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { Scans } from '../../../database/sqlite/scans.ts'
import { lazy } from '../../../shared.ts'
import type { ListQuery } from '../query.ts'
import type { StoredResource, Values } from '../resource.ts'
import { type FlatRow, joins, selectedColumns } from '../shape.ts'
import type { Found, RowReads, Scanned } from '../store.ts'
import { CHUNK_WEIGHT_MAX } from '../weights.ts'
import { indexedBy, listStatements } from './lists.ts'
import { column, sqliteReader } from './reader.ts'

/** Limit on the JSON of the items of a long list that are read at a time, in characters, unless a single one is longer. */
const PIECE_MAX_CHARACTERS = 65_536

/** Reads rows as resources with the members that `resource` shows. */
export function rowReads<Row extends Values>(database: SqliteDatabase, resource: StoredResource<Row>): RowReads<Row> {
  const { find } = sqliteReader(database, resource)
  const scan = lazy(() => scanning(database.scans, resource))
  return {
    read: ids =>
      database.snapshot(() => {
        const found: Found[] = []
        let count = 0
        let weight = 0
        for (const id of ids) {
          count += 1
          const next = find(id)
          if (!next) continue
          found.push(next)
          weight += next.json.length
          if (weight > CHUNK_WEIGHT_MAX) break
        }
        return { found, count }
      }),
    scan: query => scan()(query),
  }
}

/** Prepares the statements that read long lists. */
function scanning<Row extends Values>(source: Scans, resource: StoredResource<Row>) {
  const { represent } = sqliteReader(source, resource)
  const statementOf = listStatements<Row, FlatRow>(
    source,
    resource,
    (list, index) =>
      `SELECT ${selectedColumns(resource, column)}
      FROM ${resource.table} AS owner ${indexedBy(index)} ${joins(resource, 'CROSS JOIN')}
      WHERE ${list.where} ORDER BY ${list.orderBy}`,
  )
  return (query: ListQuery<Row>): Awaitable<Scanned> =>
    source.snapshot(() => {
      const { statement, parameters } = statementOf(query)
      const items: Found[] = []
      let characters = 0
      for (const row of statement.iterate(...parameters)) {
        const item = represent(row)
        items.push(item)
        characters += item.json.length
        if (characters >= PIECE_MAX_CHARACTERS) return { items, last: row.id }
      }
      return { items, last: null }
    })
}
