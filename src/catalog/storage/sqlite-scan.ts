import type { Parameter } from '../../database/sqlite/connection.ts'
import type { Scans } from '../../database/sqlite/scans.ts'
import { SCAN_WEIGHT_MAX } from './listing.ts'
import type { StoredResource, Values } from './resource.ts'
import { type FlatRow, joins, selectedColumns } from './shape.ts'
import { listStatements } from './sqlite-lists.ts'
import { column, sqliteReader } from './sqlite-reader.ts'
import type { Found, Scope } from './store.ts'

/** Prepares the statements that read long lists. */
export function sqliteScan<Row extends Values>(source: Scans, resource: StoredResource<Row>) {
  const { represent } = sqliteReader(source, resource)
  const rows = `SELECT ${selectedColumns(resource, column)} FROM ${resource.table} AS owner`
  const listOf = listStatements(source, resource, (index, condition) => {
    // The list of everything is in the order of the table itself.
    const order = condition === '' ? 'NOT INDEXED' : `INDEXED BY ${index}`
    return source.prepare<Parameter[], FlatRow>(
      `${rows} ${order} ${joins(resource, 'CROSS JOIN')}
      WHERE ${condition} owner.id > ? AND owner.id <= ? ORDER BY owner.id`,
    )
  })
  return (scope: Scope<Row>, afterId: number, untilId: number): Found[] =>
    source.snapshot(() => {
      const { statements: select, parameters } = listOf(scope)
      const found: Found[] = []
      let weight = 0
      for (const row of select.iterate(...parameters, afterId, untilId)) {
        const next = represent(row)
        found.push(next)
        weight += next.weight
        if (weight >= SCAN_WEIGHT_MAX) break
      }
      return found
    })
}
