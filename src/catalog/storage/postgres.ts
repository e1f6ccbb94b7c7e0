import type { PostgresDatabase } from '../../database/postgres/database.ts'
import type { Parameter } from '../../database/postgres/pool.ts'
import type { KeepAnswers } from '../idempotency/postgres.ts'
import { creating } from './postgres-creation.ts'
import { firstRows, lightRows, type OwnerOrItem, PostgresRows } from './postgres-rows.ts'
import { postgresWrites } from './postgres-writes.ts'
import type { StoredResource, Values } from './resource.ts'
import { NESTED_MAX } from './resource.ts'
import type { Found, IdPage, IdRange, Keep, Read, ResourceTable, Scope } from './store.ts'

/** Resources of a long list that are read at a time, unless they are heavy. */
const SCAN_ITEMS = 200

/** Reads and writes one kind of resource. */
export function postgresTable<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  keep: KeepAnswers,
): ResourceTable<Row> {
  const { table, array } = resource
  const rows = new PostgresRows(resource)
  const create = creating(database, resource, { represent: row => rows.found({ row, items: [] }), keep })

  const readBy = async (statement: string, ids: readonly number[], keep?: Keep): Promise<Read | null> => {
    const kept = keep?.()
    const read = await database.read<OwnerOrItem>(statement, `{${ids.join(',')}}`)
    if (read.length === 0) return null
    const page = rows.read(ids, read)
    const state = read.find(({ owner_id }) => owner_id === null)?.state ?? null
    if (kept && database.changes.observe(state)) for (const one of page.found) kept(one)
    return page
  }
  const readFirst = async (ids: readonly number[], keep?: Keep): Promise<Read> =>
    (await readBy(firstRows(resource, database.changes.state), ids, keep)) ?? { found: [], count: ids.length }

  const readLight = (ids: readonly number[], scannedMax: number | null, keep?: Keep) =>
    array && readBy(lightRows(resource, array, { state: database.changes.state, scannedMax }), ids, keep)

  const read = async ({ ids }: IdPage, keep?: Keep): Promise<Read> =>
    (await readLight(ids, (ids.length + 1) * NESTED_MAX, keep)) ?? readFirst(ids, keep)

  // All callers have the same cache.
  const batch = database.batch<{ id: number; keep: Keep | undefined }, Found | null>(async inputs => {
    const byId = new Map<number, Found>()
    for (let ids = [...new Set(inputs.map(({ id }) => id))]; ids.length > 0; ) {
      const keep = inputs[0]?.keep
      const { found, count } = (await readLight(ids, null, keep)) ?? (await readFirst(ids, keep))
      for (const one of found) byId.set(one.id, one)
      ids = ids.slice(count)
    }
    return inputs.map(({ id }) => byId.get(id) ?? null)
  })

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
    find: (id, keep) => batch.add({ id, keep }),
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
