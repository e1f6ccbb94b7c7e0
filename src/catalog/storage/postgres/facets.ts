import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { Query } from '../../../database/postgres/pool.ts'
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

/** Counts on the primary. One pass makes groups by category; all else is their sums. */
export function postgresFacetReads<Row extends Values>(
  database: PostgresDatabase,
  resource: IndexedResource<Row>,
): ReadFacets<Row> {
  const read = async (ask: Query, list: ListQuery<Row>, { priceBands, categoryLimit, named }: CountedParts) => {
    const { from, parameters, parameter } = indexSelection(resource, list, null)
    const { names, ofAll } = countedColumns(priceBands, '::float8')
    const conditions = [
      ...priceBands.map(bound => `owner.price < ${parameter(bound)}::float8`),
      ...LEAST_STARS.map(stars => `owner.average >= ${stars}`),
    ]
    const counts = names.map((name, at) => `count(*) FILTER (WHERE ${conditions[at]}) AS ${name}`)
    const ofGroup = ['count(*) AS number, min(owner.price) AS least, max(owner.price) AS most', ...counts].join(', ')
    const listed = (table: string) =>
      `(SELECT json_agg(json_build_object('value', value, 'name', name, 'count', number) ORDER BY number DESC, value)::text FROM ${table})`
    const [row] = await ask<CountedRow & { readonly state: string | null }>(
      `WITH groups AS MATERIALIZED (
        SELECT coalesce(owner.category_id, 0) AS value, ${ofGroup} FROM ${from} GROUP BY owner.category_id
      ), named AS (
        SELECT groups.value, categories.name, number FROM groups LEFT JOIN categories ON categories.id = groups.value
        WHERE groups.value = 0 OR categories.id IS NOT NULL
        ORDER BY number DESC, groups.value LIMIT ${parameter(categoryLimit)}::bigint
      ), others AS (
        SELECT asked.value, categories.name, coalesce(number, 0) AS number
        FROM (SELECT DISTINCT unnest(${parameter(`{${named.join(',')}}`)}::text::bigint[]) AS value) AS asked
        LEFT JOIN categories ON categories.id = asked.value LEFT JOIN groups ON groups.value = asked.value
        WHERE (asked.value = 0 OR categories.id IS NOT NULL) AND asked.value NOT IN (SELECT value FROM named)
      )
      SELECT ${ofAll}, ${listed('named')} AS categories, ${listed('others')} AS others, ${database.changes.state} AS state
      FROM groups`,
      ...parameters,
    )
    database.changes.observe(row?.state ?? null)
    return countsIn(row, priceBands)
  }
  return work => database.readPlanned(ask => work((list, parts) => read(ask, list, parts)))
}
