import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { ReadAll } from '../../../database/sqlite/reading-thread.ts'
import {
  type CountedParts,
  type CountedRow,
  countedColumns,
  countsIn,
  LEAST_STARS,
  type ReadFacets,
} from '../index/facets.ts'
import type { ListQuery } from '../query.ts'
import type { IndexedResource, Values } from '../resource.ts'
import { indexSelection } from './index-reads.ts'

/**
 * Counts in the thread for long reads. One pass makes groups by category, with a function of that thread; all else is their sums.
 */
export function sqliteFacetReads<Row extends Values>(
  database: SqliteDatabase,
  resource: IndexedResource<Row>,
): ReadFacets<Row> {
  const read = async (all: ReadAll, list: ListQuery<Row>, { priceBands, categoryLimit, named }: CountedParts) => {
    const { sql, parameters } = indexSelection(resource, list, null)
    const { names, ofAll } = countedColumns(priceBands)
    const columns = ['number', 'least', 'most', ...names]
    const ofGroup = columns.map((name, at) => `value ->> ${at + 1} AS ${name}`).join(', ')
    const listed = (table: string) =>
      `(SELECT json_group_array(json_object('value', value, 'name', name, 'count', number) ORDER BY number DESC, value) FROM ${table})`
    const [row] = await all<CountedRow>(
      `WITH groups AS MATERIALIZED (
        SELECT coalesce(value ->> 0, 0) AS value, ${ofGroup}
        FROM json_each((SELECT counted_by(owner.category_id, owner.price, owner.average, ?) ${sql}))
      ), named AS (
        SELECT groups.value, categories.name, number FROM groups LEFT JOIN categories ON categories.id = groups.value
        WHERE groups.value = 0 OR categories.id IS NOT NULL ORDER BY number DESC, groups.value LIMIT ?
      ), others AS (
        SELECT asked.value, categories.name, coalesce(number, 0) AS number
        FROM (SELECT DISTINCT value FROM json_each(?)) AS asked LEFT JOIN categories ON categories.id = asked.value
        LEFT JOIN groups ON groups.value = asked.value
        WHERE (asked.value = 0 OR categories.id IS NOT NULL) AND asked.value NOT IN (SELECT value FROM named)
      )
      SELECT ${ofAll}, ${listed('named')} AS categories, ${listed('others')} AS others FROM groups`,
      [JSON.stringify([priceBands, LEAST_STARS]), ...parameters, categoryLimit, JSON.stringify(named)],
    )
    return countsIn(row, priceBands)
  }
  return work => database.beside.together(all => work((list, parts) => read(all, list, parts)))
}
