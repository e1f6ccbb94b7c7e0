import { type Awaitable, whenThere } from '../../awaitable.ts'
import { areAsSelected, PAGE_READS } from './one-moment.ts'
import { projected } from './projection.ts'
import { type ListQuery, wholeList } from './query.ts'
import type { ResourceName, StoredResource, Values } from './resource.ts'
import type {
  IdLists,
  IdPage,
  ListPage,
  Reader,
  ResourceStore,
  ResourceTable,
  RowReads,
  ShownResources,
} from './store.ts'

/** For each kind of resource, whether a row exists. */
export type Parents = Readonly<Partial<Record<ResourceName, (id: number) => Promise<boolean>>>>

/** Reads resources with all their members, or with some, in lists that an engine finds. */
export type ReaderOf<Row extends Values> = (
  resource: StoredResource<Row>,
  lists: IdLists<Row>,
  rows: RowReads<Row>,
) => Reader<Row>

/** Limit on the choices of members whose statements stay prepared. */
const PROJECTIONS_MAX = 32

const FROM_THE_END = { order: { by: [], isDescending: true }, from: { after: null, skip: 0 } } as const

/** The operations on one kind of resource, for any engine. `parents` are those that it references. */
export function resourceStore<Row extends Values>(
  resource: StoredResource<Row>,
  table: ResourceTable<Row>,
  lists: IdLists<Row>,
  readerOf: ReaderOf<Row>,
  parents: Parents = {},
): ResourceStore<Row> {
  const shown = (rows: RowReads<Row>, reader: Reader<Row>): ShownResources<Row> => ({
    ...reader,
    ...rows,
    ids: lists.page,
    end: async query => {
      const { from, limit } = query
      // Without a limit, this would pass over every row to find that none follows.
      const isBounded = limit < Number.MAX_SAFE_INTEGER
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
  })
  const showing = (some: StoredResource<Row>) => {
    const rows = table.reads(some)
    return shown(rows, readerOf(some, lists, rows))
  }
  const projections = new Map<string, ShownResources<Row>>()
  return {
    ...table,
    ...showing(resource),
    exists: async id => {
      const where = [{ column: 'id', is: '=', value: id }] as const
      const { ids } = await table.page({ ...wholeList<Row>(), where, limit: 1 })
      return ids.length > 0
    },
    showing: names => {
      const key = [...names].sort().join()
      const known = projections.get(key)
      if (known) return known
      if (projections.size === PROJECTIONS_MAX) projections.clear()
      const made = showing(projected(resource, names))
      projections.set(key, made)
      return made
    },
  }
}

/** Reads everything from the database. */
export function directReader<Row extends Values>(
  _: StoredResource<Row>,
  lists: IdLists<Row>,
  rows: RowReads<Row>,
): Reader<Row> {
  const readPage = (query: ListQuery<Row>, readsLeft: number, known?: IdPage): Awaitable<ListPage> =>
    whenThere(known ?? lists.page(query), page => {
      const { ids, last, more } = page
      if (ids.length === 0) return { items: [], last, more, isWhole: true }
      return whenThere(rows.read(ids), ({ found, count }) =>
        areAsSelected(page, found) || readsLeft === 1
          ? { items: found, last, more, isWhole: count === ids.length }
          : readPage(query, readsLeft - 1),
      )
    })
  return {
    find: id => whenThere(rows.read([id]), ({ found }) => found[0] ?? null),
    page: (query, known) => readPage(query, PAGE_READS, known),
    count: (query, most) => whenThere(lists.count(query, most), ({ count }) => count),
  }
}
