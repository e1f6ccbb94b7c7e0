import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter, Query } from '../../database/postgres/pool.ts'
import type { KeepAnswers } from '../idempotency/postgres.ts'
import { CHUNK_WEIGHT_MAX } from './listing.ts'
import { creating } from './postgres-creation.ts'
import {
  columnSql,
  type Group,
  itemReader,
  PostgresRows,
  rowColumns,
  type WeighedRow,
  weighedRows,
} from './postgres-rows.ts'
import { postgresWrites } from './postgres-writes.ts'
import type { StoredResource, Values } from './resource.ts'
import { NESTED_MAX } from './resource.ts'
import type { FlatRow } from './shape.ts'
import type { Found, IdPage, IdRange, Keep, Read, ResourceTable, Scope } from './store.ts'

/** Resources of a long list that are read at a time, unless they are heavy. */
const SCAN_ITEMS = 200

/** A resource's own row, or one of its items with the resource's id as `owner_id`. */
type PageRow = FlatRow & { readonly owner_id: number | null; readonly state: string | null }

/** Reads and writes one kind of resource. */
export function postgresTable<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  keep: KeepAnswers,
): ResourceTable<Row> {
  const { table } = resource
  const rows = new PostgresRows(resource)
  const ask: Query = (sql, ...parameters) => database.read(sql, ...parameters)
  const create = creating(database, resource, { represent: row => rows.found({ row, items: [] }), keep })
  const readPage = pageReader(database, resource, rows)
  const withIds = `SELECT * FROM ${table} WHERE id = ANY ($1::text::bigint[])`

  /** Reads resources with their arrays, up to the weight limit. */
  const readWeighed = async (ids: readonly number[], keep?: Keep) => {
    const kept = keep?.()
    const found = await database.read<WeighedRow>(
      weighedRows(resource, withIds, database.changes.state),
      `{${ids.join(',')}}`,
    )
    const { whole, partial, isCut } = rows.grouped(found)
    const resources = whole.map(group => rows.found(group))
    if (kept && database.changes.observe(found[0]?.state ?? null)) for (const one of resources) kept(one)
    const lastId = resources.at(-1)?.id ?? 0
    const firstLeftOut = partial?.row.id ?? (isCut ? ids.find(id => id > lastId) : undefined)
    return { found: resources, firstLeftOut: firstLeftOut ?? null }
  }

  /** One resource, however heavy it is. */
  const readOne = async (id: number) =>
    rows.one(
      ask,
      await database.read<WeighedRow>(weighedRows(resource, `SELECT * FROM ${table} WHERE id = $1::bigint`), id),
    )

  // All callers have the same cache.
  const batch = database.batch<{ id: number; keep: Keep | undefined }, Found | 'too heavy' | null>(async inputs => {
    const ids = [...new Set(inputs.map(({ id }) => id))].sort((one, other) => one - other)
    const { found, firstLeftOut } = await readWeighed(ids, inputs[0]?.keep)
    const byId = new Map(found.map(one => [one.id, one]))
    return inputs.map(({ id }) => byId.get(id) ?? (firstLeftOut !== null && id >= firstLeftOut ? 'too heavy' : null))
  })

  const read = async ({ ids }: IdPage, keep?: Keep): Promise<Read> => {
    const page = (await readPage(ids, keep)) ?? (await readWeighed(ids, keep))
    if (page.firstLeftOut === null) return { found: page.found, count: ids.length }
    const count = ids.indexOf(page.firstLeftOut)
    if (count > 0) return { found: page.found, count }
    const heavy = await readOne(page.firstLeftOut)
    return { found: heavy ? [heavy] : [], count: 1 }
  }

  const page = async (
    scope: Scope<Row>,
    { afterId, skip, limit }: IdRange,
    keep?: Keep<readonly number[]>,
  ): Promise<IdPage> => {
    const { condition, parameters } = conditionOf(scope)
    const kept = keep?.()
    const reading = database.read<{ ids: string | null; state: string | null }>(
      `SELECT string_agg(id::text, ',' ORDER BY id) AS ids, ${database.changes.state} AS state FROM (
        SELECT id FROM ${table} WHERE id > $1::bigint AND ${condition} ORDER BY id LIMIT $2::bigint OFFSET $3::bigint
      ) AS page`,
      ...[afterId, limit, skip, ...parameters],
    )
    // At the same time, so that cached resources of the page can be used.
    const [[page], isKnown] = await Promise.all([reading, kept && database.changes.current(() => true)])
    const ids = page?.ids ? page.ids.split(',').map(Number) : []
    if (database.changes.observe(page?.state ?? null) && isKnown) kept?.(ids)
    return { ids, cached: [] }
  }

  return {
    find: async (id, keep) => {
      const found = await batch.add({ id, keep })
      return found === 'too heavy' ? readOne(id) : found
    },
    read,
    page,
    scan: async (scope, afterId, untilId) => {
      for (let from = afterId; ; ) {
        const { ids } = await page(scope, { afterId: from, skip: 0, limit: SCAN_ITEMS })
        const wanted = ids.filter(id => id <= untilId)
        if (wanted.length === 0) return []
        const { found, count } = await read({ ids: wanted, cached: [] })
        if (found.length > 0) return found
        // All that was looked for has been deleted meanwhile.
        from = wanted[count - 1] ?? untilId
      }
    },
    lastId: async scope => {
      const { condition, parameters } = conditionOf(scope)
      const [last] = await database.read<{ id: number | null }>(
        // The parameters of the condition start at $4.
        `SELECT max(id)::float8 AS id FROM ${table} WHERE id > $1::bigint + $2::bigint + $3::bigint AND ${condition}`,
        ...[0, 0, 0, ...parameters],
      )
      return last?.id ?? 0
    },
    // The chunks may come from a different replica than the last id.
    canStream: () => database.shownByReplicas(),
    exists: async id => (await database.read(`SELECT id FROM ${table} WHERE id = $1::bigint`, id)).length > 0,
    create,
    ...postgresWrites(database, resource, rows),
  }
}

/** SQL that selects the rows of a list. Its parameters start at $4. */
function conditionOf<Row extends Values>(scope: Scope<Row>): { condition: string; parameters: Parameter[] } {
  const columns = Object.entries(scope)
  return {
    condition: columns.map(([column], place) => `${column} = $${place + 4}::bigint`).join(' AND ') || 'TRUE',
    parameters: columns.map(([, id]) => id ?? null),
  }
}

/**
 * Reads resources with one scan of the items of all of them, which takes half the time. Resolves to `null` if it finds
 * nothing, or if there are too many items or too heavy ones.
 */
function pageReader<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  rows: PostgresRows<Row>,
): (ids: readonly number[], keep?: Keep) => Promise<{ found: Found[]; firstLeftOut: null } | null> {
  const { table, array, columns } = resource
  if (!array) return async () => null
  const itemOf = itemReader(array)
  const weight = (of: Readonly<Record<string, string>>) =>
    Object.keys(of)
      .filter(column => of[column] === 'long text')
      .map(column => `octet_length(${column})`)
      .join(' + ') || '0'
  const own = rowColumns(resource)
  return async (ids, keep) => {
    const kept = keep?.()
    const itemsMax = (ids.length + 1) * NESTED_MAX
    // In a resource's own row, the columns of the item are NULL, and vice versa.
    const read = await database.read<PageRow>(
      `WITH page AS MATERIALIZED (SELECT * FROM ${table} WHERE id = ANY ($1::text::bigint[])), items AS MATERIALIZED (
        SELECT * FROM ${array.table} WHERE ${array.key} = ANY (ARRAY(SELECT id FROM page))
        ORDER BY ${array.key}, id LIMIT ${itemsMax}
      ), light AS MATERIALIZED (
        SELECT ${database.changes.state} AS state WHERE (SELECT count(*) FROM items) < ${itemsMax}
          AND coalesce((SELECT sum(${weight(columns)}) FROM page), 0)
            + coalesce((SELECT sum(${weight(array.columns)}) FROM items), 0) <= ${CHUNK_WEIGHT_MAX}
      )
      SELECT ${own}, NULL::float8 AS owner_id, light.state
      FROM light CROSS JOIN page AS owner LEFT JOIN items AS item ON FALSE
      UNION ALL
      SELECT ${own}, ${columnSql('item', array.key, 'integer')}, NULL
      FROM light CROSS JOIN items AS item LEFT JOIN page AS owner ON FALSE`,
      `{${ids.join(',')}}`,
    )
    if (read.length === 0) return null
    const groups = new Map<number, Group>()
    let state: string | null = null
    for (const row of read) {
      if (row.owner_id !== null) continue
      groups.set(row.id, { row, items: [] })
      state = row.state
    }
    for (const row of read) {
      const item = row.owner_id === null ? null : itemOf(row)
      if (item && row.owner_id !== null) groups.get(row.owner_id)?.items.push(item)
    }
    const found = ids.flatMap(id => {
      const group = groups.get(id)
      return group ? [rows.found(group)] : []
    })
    if (kept && database.changes.observe(state)) for (const one of found) kept(one)
    return { found, firstLeftOut: null }
  }
}
