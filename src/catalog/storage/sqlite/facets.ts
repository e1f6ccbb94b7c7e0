import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import { type FacetReads, LEAST_STARS } from '../index/facets.ts'
import type { IndexDescription, StoredResource, Values } from '../resource.ts'
import { indexSelection } from './search-index.ts'

interface CountedRow {
  readonly value: number | null
  readonly name: string | null
  readonly number: number
  readonly [column: string]: number | string | null
}

/** Counts in the thread for long reads, after all other reads. One pass makes groups by category; all else is their sums. */
export function sqliteFacetReads<Row extends Values>(
  database: SqliteDatabase,
  resource: StoredResource<Row>,
  index: IndexDescription,
): FacetReads<Row> {
  return {
    count: async (list, { priceBands, categoryLimit, named }) => {
      const { sql, parameters } = indexSelection(resource, index, list, null)
      const below = priceBands.map((_, at) => `below_${at}`)
      const rated = LEAST_STARS.map(stars => `rated_${stars}`)
      const counted = [
        'count(*) AS number, min(owner.price) AS least, max(owner.price) AS most',
        ...below.map(name => `count(*) FILTER (WHERE owner.price < ?) AS ${name}`),
        ...LEAST_STARS.map(stars => `count(*) FILTER (WHERE owner.average >= ${stars}) AS rated_${stars}`),
      ]
      const sums = ['number', ...below, ...rated].map(name => `coalesce(sum(${name}), 0) AS ${name}`)
      const nothing = ['number', 'least', 'most', ...below, ...rated].slice(1).map(() => ', NULL')
      const rows = await database.beside.all<CountedRow>(
        `WITH groups AS MATERIALIZED (
          SELECT coalesce(owner.category_id, 0) AS value, ${counted.join(', ')} ${sql} GROUP BY owner.category_id
        ), named AS (
          SELECT groups.value, categories.name, number FROM groups LEFT JOIN categories ON categories.id = groups.value
          WHERE groups.value = 0 OR categories.id IS NOT NULL ORDER BY number DESC, groups.value LIMIT ?
        ), others AS (
          SELECT asked.value, categories.name, coalesce(number, 0) AS number
          FROM (SELECT DISTINCT value FROM json_each(?)) AS asked LEFT JOIN categories ON categories.id = asked.value
          LEFT JOIN groups ON groups.value = asked.value
          WHERE (asked.value = 0 OR categories.id IS NOT NULL) AND asked.value NOT IN (SELECT value FROM named)
          ORDER BY number DESC, asked.value
        )
        SELECT NULL AS value, NULL AS name, ${sums[0]}, min(least) AS least, max(most) AS most${sums
          .slice(1)
          .map(sum => `, ${sum}`)
          .join('')} FROM groups
        UNION ALL SELECT value, name, number${nothing.join('')} FROM (SELECT * FROM named)
        UNION ALL SELECT value, name, number${nothing.join('')} FROM (SELECT * FROM others)`,
        [...priceBands, ...parameters, categoryLimit, JSON.stringify(named)],
        { isPatient: true },
      )
      const [total, ...categories] = rows
      const sumOf = (name: string) => Number(total?.[name] ?? 0)
      const bound = (name: string) => (total?.[name] == null ? null : Number(total[name]))
      return {
        count: sumOf('number'),
        min: bound('least'),
        max: bound('most'),
        below: below.map(sumOf),
        rated: rated.map(sumOf),
        categories: categories.map(({ value, name, number }) => ({ value: value ?? 0, name, count: number })),
        isCurrent: true,
      }
    },
  }
}
