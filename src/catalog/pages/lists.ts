import { z } from '@hono/zod-openapi'
import { HttpError } from '../../server/errors.ts'
import { entityTag, versionOf } from '../http/entity-tag.ts'
import { ListParameters } from '../http/lists/page.ts'
import type { ValidationError } from '../http/validation/errors.ts'
import { requestReader } from '../http/validation/request.ts'
import type { Representation } from '../storage/representation.ts'
import type { StoredResource, Values } from '../storage/resource.ts'
import type { ResourceStore, ShownResources } from '../storage/store.ts'

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
  /** What is wrong with the query. */
  readonly errors: readonly ValidationError[]
}

/** The lists of one kind of resource, by the parameters that the interface has. */
export class PageList<Row extends Values, Value extends Readonly<Record<string, unknown>>> {
  readonly #name: string
  readonly #store: ResourceStore<Row>
  readonly #schema: z.ZodObject
  readonly #shown: (item: Representation) => ListedItem<Value>
  readonly #parameters: ListParameters<Row>
  readonly #read

  /** `schema` has the members that are shown. */
  constructor(resource: StoredResource<Row>, store: ResourceStore<Row>, schema: z.ZodObject & z.ZodType<Value>) {
    this.#name = resource.name.toLowerCase()
    this.#store = store
    this.#schema = schema
    this.#shown = ({ json, revision }) => ({
      value: schema.parse(JSON.parse(json)),
      tag: entityTag(versionOf(json, false, revision)),
    })
    this.#parameters = new ListParameters(resource, 'selectable', [])
    const { shape, rules } = this.#parameters
    this.#read = requestReader({
      path: z.object({}),
      query: shape,
      body: z.undefined(),
      ...(rules && { queryRules: rules }),
    })
  }

  /** `query` is as in the interface; parameters without a value do not count. The newest come first, unless words are sought. */
  async rows(query: URLSearchParams, limit = ROWS): Promise<ListedItems<Value>> {
    const sent = new URLSearchParams(
      [...query].filter(([name, value]) => value !== '' && name in this.#parameters.shape.shape),
    )
    if (!sent.has('q') && !sent.has('sort')) sent.set('sort', '-id')
    sent.set('limit', String(limit))
    const read = await this.#read(new Request(`http://localhost/?${sent}`), {}, null)
    if ('errors' in read) return { items: [], next: null, total: 0, errors: read.errors }
    const { query: list, cursorAt } = this.#parameters.selection({}, read.value.query)
    const lists = this.#members
    const page = await lists.page(list)
    const items = page.isWhole ? page.items.map(this.#shown) : await this.#oneByOne((await lists.ids(list)).ids)
    const total = await lists.count(list, COUNT_MAX)
    if (page.more && page.last) sent.set('cursor', cursorAt(page.last))
    sent.delete('limit')
    return { items, next: page.more ? String(sent) : null, total, errors: [] }
  }

  /** `null` if it does not exist. */
  async find(id: number): Promise<ListedItem<Value> | null> {
    const found = await this.#members.find(id)
    return found && this.#shown(found)
  }

  /** Rejects with an `HttpError` 404 if it does not exist. */
  async get(id: number): Promise<ListedItem<Value>> {
    const found = await this.find(id)
    if (!found) throw new HttpError(404, `There is no such ${this.#name}, or no longer`)
    return found
  }

  /** Those that exist, by their ids. */
  async some(ids: Iterable<number>): Promise<ReadonlyMap<number, Value>> {
    const items = await this.#oneByOne([...new Set(ids)])
    return new Map(items.map(({ value }) => [Number(value.id), value]))
  }

  get #members(): ShownResources<Row> {
    return this.#store.showing(new Set(Object.keys(this.#schema.shape)))
  }

  /** Texts may be too long to be held at once. */
  async #oneByOne(ids: readonly number[]): Promise<ListedItem<Value>[]> {
    const items: ListedItem<Value>[] = []
    for (let rest = ids; rest.length > 0; ) {
      const { found, count } = await this.#members.read(rest)
      items.push(...found.map(this.#shown))
      rest = rest.slice(count)
    }
    return items
  }
}
