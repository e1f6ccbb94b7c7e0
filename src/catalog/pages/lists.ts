import type { z } from '@hono/zod-openapi'
import { HttpError } from '../../server/errors.ts'
import { entityTag, versionOf } from '../http/entity-tag.ts'
import { ListParameters } from '../http/lists/page.ts'
import { piecesById } from '../http/lists/response.ts'
import type { ValidationError } from '../http/validation/errors.ts'
import { queryReader } from '../http/validation/request.ts'
import { searchOf } from '../search/search.ts'
import type { StoredResource, Values } from '../storage/resource.ts'
import type { Representation, ResourceStore } from '../storage/store.ts'

/** Rows of a page. */
const ROWS = 50

/** A count stops here. */
export const COUNT_MAX = 10_000

/** A resource with the tag that a read of it has, which a change sends back. */
export interface ListedItem<Value> {
  readonly value: Value
  readonly tag: string
}

export interface ListedItems<Value> {
  readonly items: readonly ListedItem<Value>[]
  /** The query of the next page; `null` after the last. */
  readonly next: string | null
  /** At most `COUNT_MAX`. */
  readonly total: number
  /** The errors in the query. */
  readonly errors: readonly ValidationError[]
}

/** The lists of one kind of resource, by the parameters that the interface has. `schema` has the members that are shown. */
export function pageList<Row extends Values, Value extends Readonly<Record<string, unknown>>>(
  resource: StoredResource<Row>,
  store: ResourceStore<Row>,
  schema: z.ZodObject & z.ZodType<Value>,
) {
  const lists = store.showing(new Set(Object.keys(schema.shape)))
  const parameters = new ListParameters(resource, 'selectable', [])
  const read = queryReader(parameters.schema())
  const shown = ({ json, revision }: Representation): ListedItem<Value> => ({
    value: schema.parse(JSON.parse(json)),
    tag: entityTag(versionOf(json, undefined, revision)),
  })

  /** Texts may be too long to be held at once. */
  const oneByOne = async (ids: readonly number[]): Promise<ListedItem<Value>[]> => {
    const items: ListedItem<Value>[] = []
    for await (const found of piecesById(lists, ids)) items.push(...found.map(shown))
    return items
  }

  /** `null` if it does not exist. */
  const find = async (id: number): Promise<ListedItem<Value> | null> => {
    const found = await lists.find(id)
    return found && shown(found)
  }

  return {
    find,
    /** Rejects with an `HttpError` 404 if it does not exist. */
    get: async (id: number): Promise<ListedItem<Value>> => {
      const found = await find(id)
      if (!found) throw new HttpError(404, `There is no such ${resource.name.toLowerCase()}, or no longer`)
      return found
    },
    /** Those that exist, by their ids. */
    some: async (ids: Iterable<number>): Promise<ReadonlyMap<number, Value>> => {
      const items = await oneByOne([...new Set(ids)])
      return new Map(items.map(({ value }) => [Number(value.id), value]))
    },
    /** `query` is as in the interface; parameters without a value do not count. The newest come first, unless words are sought. */
    rows: async (query: URLSearchParams, limit = ROWS): Promise<ListedItems<Value>> => {
      const sent = new URLSearchParams(
        [...query].filter(([name, value]) => value !== '' && name in parameters.schema().shape),
      )
      if (!sent.has('sort') && !searchOf(sent.get('q') ?? '')) sent.set('sort', '-id')
      sent.set('limit', String(limit))
      const asked = read(`?${sent}`)
      const errors = 'errors' in asked ? asked.errors : parameters.misfits({}, asked.value)
      if ('errors' in asked || errors.length > 0) return { items: [], next: null, total: 0, errors }
      const { query: list, cursorAt } = parameters.selection({}, asked.value)
      const page = await lists.page(list)
      const items = page.isWhole ? page.items.map(shown) : await oneByOne((await lists.ids(list)).ids)
      const total = await lists.count(list, COUNT_MAX)
      if (page.more && page.last) sent.set('cursor', cursorAt(page.last))
      sent.delete('limit')
      return { items, next: page.more ? String(sent) : null, total, errors }
    },
  }
}
