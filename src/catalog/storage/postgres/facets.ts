import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { type CategoryCount, type FacetReads, LEAST_STARS } from '../index/facets.ts'
import type { IndexDescription, StoredResource, Values } from '../resource.ts'
import { indexSelection } from './search-index.ts'

interface CountedRow {
  readonly number: number
  readonly least: number | null
  readonly most: number | null
  readonly categories: string | null
  readonly others: string | null
  readonly state: string | null
  readonly [count: string]: number | string | null
}

/** Counts on the primary. One pass makes groups by category; all else is their sums. */
export function postgresFacetReads<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  index: IndexDescription,
): FacetReads<Row> {
  return {
    count: async (list, { priceBands, categoryLimit, named }) => {
      const { from, parameters, parameter } = indexSelection(resource, index, list, null)
      const below = priceBands.map((_, at) => `below_${at}`)
      const rated = LEAST_STARS.map(stars => `rated_${stars}`)
      const counted = [
        'count(*) AS number, min(owner.price) AS least, max(owner.price) AS most',
        ...priceBands.map(
          (bound, at) => `count(*) FILTER (WHERE owner.price < ${parameter(bound)}::float8) AS below_${at}`,
        ),
        ...LEAST_STARS.map(stars => `count(*) FILTER (WHERE owner.average >= ${stars}) AS rated_${stars}`),
      ]
      const sums = ['number', ...below, ...rated].map(name => `coalesce(sum(${name}), 0)::float8 AS ${name}`)
      const all = (table: string) =>
        `(SELECT json_agg(json_build_object('value', value, 'name', name, 'count', number) ORDER BY number DESC, value)::text FROM ${table})`
      const [row] = await database.readPlanned<CountedRow>(
        `WITH groups AS MATERIALIZED (
          SELECT coalesce(owner.category_id, 0) AS value, ${counted.join(', ')} ${from} GROUP BY 1
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
        SELECT ${sums.join(', ')}, min(least) AS least, max(most) AS most, ${all('named')} AS categories,
          ${all('others')} AS others, ${database.changes.state} AS state
        FROM groups`,
        ...parameters,
      )
      const listed = (json: string | null | undefined): readonly CategoryCount[] => (json ? JSON.parse(json) : [])
      const sumOf = (name: string) => Number(row?.[name] ?? 0)
      return {
        count: sumOf('number'),
        min: row?.least ?? null,
        max: row?.most ?? null,
        below: below.map(sumOf),
        rated: rated.map(sumOf),
        categories: [...listed(row?.categories), ...listed(row?.others)],
        isCurrent: database.changes.observe(row?.state ?? null),
      }
    },
  }
}
