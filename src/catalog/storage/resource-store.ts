import { type Awaitable, whenThere } from '../../awaitable.ts'
import type { Chunk, Listing, Range } from './listing.ts'
import type { ResourceName, StoredResource, Values } from './resource.ts'
import type { Found, ResourceStore, ResourceTable, Scope } from './store.ts'

/** Resolves to whether a row of a table exists. */
export type Exists = (id: number) => Promise<boolean>

/** The operations on one kind of resource, for any engine. `parents` are the resources that it references. */
export function resourceStore<Row extends Values>(
  resource: StoredResource<Row>,
  table: ResourceTable<Row>,
  parents: Readonly<Partial<Record<ResourceName, Exists>>> = {},
): ResourceStore<Row> {
  const absentParent = async (scope: Scope<Row>): Promise<ResourceName | null> => {
    for (const { column, resource: parent } of resource.references) {
      const id = scope[column]
      if (id !== undefined && !(await parents[parent]?.(id))) return parent
    }
    return null
  }
  return {
    find: id => table.find(id),
    exists: table.exists,
    list: (scope = {}) => ({ ...listing(table, scope), absentParent: () => absentParent(scope) }),
    create: table.create,
    update: table.update,
    delete: table.delete,
  }
}

function listing<Row extends Values>(
  table: ResourceTable<Row>,
  scope: Scope<Row>,
): Pick<Listing, 'read' | 'scan' | 'end'> {
  const read = ({ afterId, skip, limit }: Range) =>
    whenThere(table.page(scope, { afterId, skip, limit: limit + 1 }), page => {
      const { ids, cached, kept } = page
      const end = Math.min(ids.length, limit)
      const chunk = (items: readonly Found[], start: number): Awaitable<Chunk<Found>> => {
        // If all of these have been deleted in the meantime, the list continues with the next ones.
        if (items.length > 0 || start >= end) {
          const isComplete = start === end
          return { items, more: !isComplete || ids.length > limit, isComplete, lastId: ids[start - 1] ?? 0, kept }
        }
        const isWhole = start === 0 && end === ids.length
        const wanted = isWhole ? page : { ids: ids.slice(start, end), cached: cached.slice(start, end) }
        return whenThere(table.read(wanted), ({ found, count }) => chunk(found, start + count))
      }
      return chunk([], 0)
    })

  const end = async ({ afterId, skip, limit }: Range) => {
    // Without a limit, this would skip every id to find that none follows.
    const hasLimit = limit < Number.MAX_SAFE_INTEGER
    const page = hasLimit ? await table.page(scope, { afterId, skip: skip + limit - 1, limit: 2 }) : null
    const [last, next] = page?.ids ?? []
    const lastId = last ?? (await table.lastId(scope))
    await table.canStream()
    return { lastId, more: next !== undefined }
  }

  return { read, scan: (afterId, untilId) => table.scan(scope, afterId, untilId), end }
}
