import type { Parameter } from '../../database/sqlite/connection.ts'
import { SCAN_WEIGHT_MAX } from './listing.ts'
import type { StoredResource, Values } from './resource.ts'
import { type RowSource, sqliteReader } from './sqlite-reader.ts'
import type { Found, Scope } from './store.ts'

/** Prepares the statements that read long lists. */
export function sqliteScan<Row extends Values>(source: RowSource, resource: StoredResource<Row>) {
  const { table, lists } = resource
  const { find } = sqliteReader(source, resource)
  const idsByColumns = new Map(
    lists.map(({ by, index }) => {
      const condition = by.map(column => `${column} = ? AND`).join(' ')
      const ids = source.prepare<Parameter[], { id: number }>(
        `SELECT id FROM ${table} INDEXED BY ${index} WHERE ${condition} id > ? AND id <= ? ORDER BY id`,
      )
      return [by.join(), { by, ids }]
    }),
  )
  return (scope: Scope<Row>, afterId: number, untilId: number): Found[] => {
    const list = idsByColumns.get(Object.keys(scope).sort().join())
    if (!list) throw new Error(`${table} have no list by ${Object.keys(scope)}`)
    const parameters = list.by.map(column => scope[column] ?? null)
    return source.snapshot(() => {
      const found: Found[] = []
      let weight = 0
      for (const { id } of list.ids.iterate(...parameters, afterId, untilId)) {
        const next = find(id)
        if (!next) continue
        found.push(next)
        weight += next.weight
        if (weight >= SCAN_WEIGHT_MAX) break
      }
      return found
    })
  }
}
