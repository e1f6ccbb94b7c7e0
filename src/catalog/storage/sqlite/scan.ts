import type { Scans } from '../../../database/sqlite/scans.ts'
import type { ListQuery } from '../query.ts'
import type { StoredResource, Values } from '../resource.ts'
import { type FlatRow, joins, selectedColumns } from '../shape.ts'
import type { Found, Scanned } from '../store.ts'
import { indexedBy, listStatements } from './lists.ts'
import { column, sqliteReader } from './reader.ts'

/** Limit on the JSON of the items that are read at a time, in characters, unless a single one is longer. */
const PIECE_MAX_CHARACTERS = 65_536

/** Prepares the statements that read long lists. */
export function sqliteScan<Row extends Values>(source: Scans, resource: StoredResource<Row>) {
  const { represent } = sqliteReader(source, resource)
  const statementOf = listStatements<Row, FlatRow>(
    source,
    resource,
    (list, index) =>
      `SELECT ${selectedColumns(resource, column)}
      FROM ${resource.table} AS owner ${indexedBy(index)} ${joins(resource, 'CROSS JOIN')}
      WHERE ${list.where} ORDER BY ${list.orderBy}`,
  )
  return (query: ListQuery<Row>): Scanned =>
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
