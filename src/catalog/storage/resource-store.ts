import { remembering } from '../../limits/remembering.ts'
import type { RepresentationCache } from './cache/cached.ts'
import { projected } from './projection.ts'
import { NO_LIMIT, wholeList } from './query.ts'
import type { ResourceName, StoredResource, Values } from './resource.ts'
import type { IdLists, ResourceStore, ResourceTable, ShownResources } from './store.ts'

/** For each kind of resource, whether a row exists. */
export type Parents = Readonly<Partial<Record<ResourceName, (id: number) => Promise<boolean>>>>

/** The choices of members whose statements stay prepared. */
const PROJECTIONS = { max: 32, charactersMax: Number.POSITIVE_INFINITY }

const FROM_THE_END = { order: { by: [], isDescending: true }, from: { after: null, skip: 0 } } as const

/** The operations on one kind of resource, for any engine. `parents` are those that it references. */
export function resourceStore<Row extends Values>(
  resource: StoredResource<Row>,
  table: ResourceTable<Row>,
  lists: IdLists<Row>,
  cache: RepresentationCache,
  parents: Parents,
): ResourceStore<Row> {
  const showing = (some: StoredResource<Row>): ShownResources<Row> => {
    const rows = table.reads(some)
    return {
      ...cache.reader(some, lists, rows),
      ...rows,
      ids: lists.page,
      end: async query => {
        const { from, limit } = query
        // Without a limit, this would pass over every row to find that none follows.
        const isBounded = limit !== NO_LIMIT
        const end = isBounded
          ? await lists.page({ ...query, from: { ...from, skip: from.skip + limit - 1 }, limit: 1 })
          : { last: null, more: false }
        const last = end.last ?? (await lists.page({ ...query, ...FROM_THE_END, limit: 1 })).last
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
  const projection = remembering(
    (names: string) => showing(projected(resource, new Set(names.split(',')))),
    PROJECTIONS,
  )
  return {
    ...table,
    ...showing(resource),
    exists: async id => {
      const where = [{ column: 'id', is: '=', value: id }] as const
      const { ids } = await table.page({ ...wholeList<Row>(), where, limit: 1 })
      return ids.length > 0
    },
    showing: names => projection([...names].sort().join()),
  }
}
