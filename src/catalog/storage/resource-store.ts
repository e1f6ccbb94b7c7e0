import { whenThere } from '../../awaitable.ts'
import type { ListQuery } from './query.ts'
import type { ResourceName, StoredResource, Values } from './resource.ts'
import type { Reader, ResourceStore, ResourceTable } from './store.ts'

/** For each kind of resource, whether a row exists. */
export type Parents = Readonly<Partial<Record<ResourceName, (id: number) => Promise<boolean>>>>

/** The operations on one kind of resource, for any engine. `parents` are those that it references. */
export function resourceStore<Row extends Values>(
  resource: StoredResource<Row>,
  table: ResourceTable<Row>,
  reader: Reader<Row>,
  parents: Parents = {},
): ResourceStore<Row> {
  return {
    ...table,
    ...reader,
    end: async query => {
      const { from, limit } = query
      // Without a limit, this would pass over every row to find that none follows.
      const isBounded = limit < Number.MAX_SAFE_INTEGER
      const end = isBounded
        ? await table.page({ ...query, from: { ...from, skip: from.skip + limit - 1 }, limit: 1 })
        : { last: null, more: false }
      const last = end.last ?? (await table.last(query))
      await table.canScan()
      return { last, more: end.more }
    },
    absentParent: async ({ where }) => {
      for (const { column, resource: parent } of resource.references) {
        const id = where.find(condition => condition.column === column && condition.is === '=')?.value
        if (typeof id === 'number' && !(await parents[parent]?.(id))) return parent
      }
      return null
    },
  }
}

/** Reads everything from the database. */
export function directReader<Row extends Values>(table: ResourceTable<Row>): Reader<Row> {
  return {
    find: id => whenThere(table.read([id]), ({ found }) => found[0] ?? null),
    page: (query: ListQuery<Row>) =>
      whenThere(table.page(query), ({ ids, last, more }) => {
        if (ids.length === 0) return { items: [], last, more, isWhole: true }
        return whenThere(table.read(ids), ({ found, count }) => ({
          items: found,
          last,
          more,
          isWhole: count === ids.length,
        }))
      }),
  }
}
