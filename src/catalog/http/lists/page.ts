import { z } from '@hono/zod-openapi'
import { lazy } from '../../../shared.ts'
import { type Search, searchOf } from '../../search/search.ts'
import {
  BY_ID,
  BY_RELEVANCE,
  type Condition,
  type Cursor,
  type ListQuery,
  NO_LIMIT,
  typeOf,
} from '../../storage/query.ts'
import type { Filter, StoredResource, Values } from '../../storage/resource.ts'
import { errorAt, fault, type ValidationError } from '../validation/errors.ts'
import { anyText, notNegative, text, valueList } from '../validation/fields.ts'
import type { Parameters } from '../validation/request.ts'
import { fieldsParameter } from './chosen.ts'
import { cursorOf, placeIn } from './cursor.ts'

const SEARCH_MAX_CHARACTERS = 200
const COUNT_MAX = 1_000_000_000

/** The query of a list that is read in pages. `after_id` is in the guide, but not in the interface description. */
const IN_PAGES = {
  // Without a default, so that a `skip` of 0 counts as sent.
  skip: notNegative().optional().openapi({ default: 0 }),
  limit: notNegative().default(100),
  after_id: notNegative().optional(),
}

/** The query of a list that is always complete, or complete from an id on. */
const WHOLE = { after_id: notNegative().optional() }

const SEARCHED = anyText(SEARCH_MAX_CHARACTERS).optional().describe('The words to search for')

/** Parameters of a selection, besides its filters and its order. */
const SELECTED = {
  cursor: z
    .string()
    .optional()
    .describe(
      'Where the page begins: from the `Link` header of a page with the same filters, `q` and `sort`. Without `skip` and `after_id`.',
    ),
  count: z
    .int()
    .min(1)
    .max(COUNT_MAX)
    .optional()
    .describe('Asks for `X-Total-Count`: the number of items, or this if there are more'),
}

/** Limit on the items of a page that is selected by more than its place, because its cost has to be bounded. */
const SELECTION_MAX = 1_000

/** They change neither which items are in a list nor their order. */
const PAGE_PARAMETERS: ReadonlySet<string> = new Set(['skip', 'limit', 'after_id', 'fields'])

/** The parameters that a list has: all, only those of a page, only `after_id`, or only filters. */
export type ListKind = 'selectable' | 'in pages' | 'whole' | 'filtered'

/** A request for a list. */
export interface Selection<Row extends Values> {
  readonly query: ListQuery<Row>
  /** How far to count the items; `null` if the client did not ask. */
  readonly count: number | null
  /** Whether it is more than a part of the whole list in the order of ids. */
  readonly isSelection: boolean
  /** Whether it continues after an id that the client named. */
  readonly isAfterId: boolean
  /** Makes the cursor of a place in this list. */
  readonly cursorAt: (place: Cursor) => string
}

/** The parameters of the lists of one kind of resource, or of those that refer to a given row. */
export class ListParameters<Row extends Values> {
  readonly schema: () => z.ZodObject
  readonly #resource: StoredResource<Row>
  readonly #filters: readonly (readonly [name: string, filter: Filter<Row>])[]

  /** `owners` are the columns of the path. */
  constructor(resource: StoredResource<Row>, kind: ListKind, owners: readonly string[]) {
    this.#resource = resource
    const isOfAll = owners.length === 0
    this.#filters = Object.entries(resource.filters).filter(([, filter]) => isOfAll || !('isOfAll' in filter))
    this.schema = lazy(() => z.object(this.#parameters(kind, owners)))
  }

  #parameters(kind: ListKind, owners: readonly string[]): z.ZodRawShape {
    const resource = this.#resource
    const filters = {
      ...(resource.index && owners.length === 0 && { q: SEARCHED }),
      ...Object.fromEntries(this.#filters.map(([name, filter]) => [name, parameterOf(resource, filter)])),
    }
    if (kind === 'filtered') return filters
    return {
      ...(kind === 'whole' ? WHOLE : IN_PAGES),
      ...(kind === 'selectable' && { ...filters, sort: sortParameter(resource, owners), ...SELECTED }),
      ...fieldsParameter(resource),
    }
  }

  /** The parameters that do not fit the others, if each is all right by itself. */
  misfits(owners: Owners, parameters: Parameters): readonly ValidationError[] {
    const { skip, cursor, after_id: afterId } = parameters
    if (typeof cursor === 'string') {
      if (skip !== undefined || afterId !== undefined)
        return [errorAt(['query', 'cursor'], fault.value('cursor excludes skip and after_id'))]
      const { query: list } = this.selection(owners, parameters)
      return list.from.after ? [] : [errorAt(['query', 'cursor'], fault.value('not a cursor of this list'))]
    }
    if (afterId === undefined) return []
    const { order } = this.#order(parameters, searchIn(parameters))
    const isByAscendingId = order.by.length === 0 && !order.isDescending
    if (isByAscendingId) return []
    return [errorAt(['query', 'after_id'], fault.value('after_id needs the order of ids'))]
  }

  /** The list that a request asks for, over the rows that reference all of `owners`. */
  selection(owners: Owners, parameters: Parameters): Selection<Row> {
    const { skip, limit, after_id: afterId, cursor, count } = parameters
    const where: Condition<Row>[] = []
    for (const { column } of this.#resource.references) {
      const owner = owners[column]
      if (owner !== undefined) where.push({ column, is: '=', value: owner })
    }
    let isIndexed = false
    for (const [name, filter] of this.#filters) {
      const condition = conditionOf(filter, parameters[name])
      if (!condition) continue
      where.push(condition)
      isIndexed ||= filter.source === 'index'
    }
    const search = searchIn(parameters)
    const { order, source } = this.#order(parameters, search)
    const list = { where, search, order, source: isIndexed || search ? ('index' as const) : source }
    const place = typeof cursor === 'string' ? placeIn(cursor, this.#resource, list) : null
    const after = place ?? (typeof afterId === 'number' ? [afterId] : null)
    return {
      query: {
        ...list,
        from: { after, skip: typeof skip === 'number' ? skip : 0 },
        until: null,
        limit: typeof limit === 'number' ? limit : NO_LIMIT,
      },
      count: typeof count === 'number' ? count : null,
      isSelection: isSelection(parameters),
      isAfterId: afterId !== undefined,
      cursorAt: place => cursorOf(this.#resource.table, list, place),
    }
  }

  #order(parameters: Parameters, search: Search | null): Pick<ListQuery<Row>, 'order' | 'source'> {
    const { sort } = parameters
    if (typeof sort !== 'string' || sort === 'relevance') {
      return search ? { order: BY_RELEVANCE, source: 'index' } : { order: BY_ID, source: 'rows' }
    }
    const isDescending = sort.startsWith('-')
    const order = this.#resource.orders[isDescending ? sort.slice(1) : sort]
    return { order: { by: order?.by ?? [], isDescending }, source: order?.source ?? 'rows' }
  }
}

/** The ids in a path, by column. */
type Owners = Readonly<Record<string, number>>

function searchIn({ q }: Parameters): Search | null {
  return typeof q === 'string' ? searchOf(q) : null
}

/** The limit of a selection. A `limit` that is still a text is none. */
export function selectionRule(sent: Parameters): readonly ValidationError[] {
  const { limit } = sent
  const isTooHigh = typeof limit === 'number' && limit > SELECTION_MAX && isSelection(sent)
  return isTooHigh ? [errorAt(['query', 'limit'], fault.aboveMaximum(SELECTION_MAX))] : []
}

function isSelection(parameters: Parameters): boolean {
  for (const name in parameters) if (!PAGE_PARAMETERS.has(name) && parameters[name] !== undefined) return true
  return false
}

function conditionOf<Row extends Values>(filter: Filter<Row>, value: unknown): Condition<Row> | null {
  const { column } = filter
  if (filter.is !== 'in') {
    return typeof value === 'number' || typeof value === 'string' ? { column, is: filter.is, value } : null
  }
  if (!Array.isArray(value)) return null
  const among = value.map(id => (filter.isZeroNull && id === 0 ? null : Number(id)))
  return { column, is: 'in', value: [...new Set(among)].sort((one, other) => (one ?? 0) - (other ?? 0)) }
}

/** The parameter of a filter. Its column tells the type. */
function parameterOf<Row extends Values>(resource: StoredResource<Row>, filter: Filter<Row>): z.ZodType {
  const parameter =
    filter.is === 'in' ? valueList(bounded(z.int(), filter), filter.valuesMax) : comparedParameter(resource, filter)
  return parameter.optional().describe(filter.description)
}

function comparedParameter<Row extends Values>(resource: StoredResource<Row>, filter: Filter<Row>): z.ZodType {
  switch (typeOf(resource, filter.column)) {
    case 'integer':
    case 'small integer':
      return bounded(z.int(), filter)
    case 'number':
      return bounded(z.number(), filter)
    case 'text':
    case 'long text':
      return text()
  }
}

function sortParameter<Row extends Values>({ orders, index }: StoredResource<Row>, owners: readonly string[]) {
  const ordered = Object.entries(orders).filter(([, { within }]) => !within || owners.includes(within))
  const words = ['id', ...ordered.map(([word]) => word)].flatMap(word => [word, `-${word}`])
  return z.enum([...words, ...(index && owners.length === 0 ? ['relevance'] : [])]).optional()
}

function bounded<Row extends Values>(numbers: z.ZodNumber, { minimum, maximum }: Filter<Row>): z.ZodNumber {
  const least = minimum === undefined ? numbers : numbers.min(minimum)
  return maximum === undefined ? least : least.max(maximum)
}
