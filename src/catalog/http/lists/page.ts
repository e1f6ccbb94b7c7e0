import { z } from '@hono/zod-openapi'
import { BY_ID, type Condition, type ListQuery, type Order } from '../../storage/query.ts'
import type { ColumnType, StoredResource, Values } from '../../storage/resource.ts'
import { cursor, integerParameter, numberParameter, pageNumber, text } from '../validation/fields.ts'

/** The query of a list that is read in pages. `after_id` is in the guide, but not in the interface description. */
const PageQuery = z.object({ skip: pageNumber(0), limit: pageNumber(100), after_id: cursor() })

/** The query of a list that is always complete, or complete from an id on. */
export const CursorQuery = z.object({ after_id: cursor() })

/** For lists whose length a request cannot limit, according to the specification. */
export const WHOLE_LIST = { skip: 0, limit: Number.MAX_SAFE_INTEGER }

export type PageQuery = z.output<typeof PageQuery>

/** The parameters of a list, with those by which its resource can be filtered and sorted. */
type ListParameters = PageQuery & Readonly<Record<string, string | number | undefined>>

/** The query of a list that is read in pages, with the filters and orders that its resource describes. */
export function listParameters<Row extends Values>({ columns, filters, orders }: StoredResource<Row>) {
  const byFilter = Object.entries(filters).map(([name, { column, description }]) => {
    return [name, parameterOf(columns[column]).optional().describe(description)] as const
  })
  const words = Object.keys(orders).flatMap(word => [word, `-${word}`])
  const sort = words.length > 0 ? { sort: z.enum(['id', '-id', ...words]).optional() } : {}
  const further: Readonly<Record<string, z.ZodOptional<z.ZodType<string | number>>>> = {
    ...Object.fromEntries(byFilter),
    ...sort,
  }
  return z.object({ ...PageQuery.shape, ...further })
}

/** Makes the query of a list from its parameters, over the rows that reference all of `owners`, which are ids by column. */
export function listQuery<Row extends Values>(
  { references, filters, orders }: StoredResource<Row>,
  parameters: ListParameters,
  owners: Readonly<Record<string, number>>,
): ListQuery<Row> {
  const { skip, limit, after_id: afterId, sort } = parameters
  const where: Condition<Row>[] = []
  for (const { column } of references) {
    const owner = owners[column]
    if (owner !== undefined) where.push({ column, is: '=', value: owner })
  }
  for (const name in filters) {
    const value = parameters[name]
    const filter = filters[name]
    if (filter && value !== undefined) where.push({ column: filter.column, is: filter.is, value })
  }
  const order = orderOf(orders, sort)
  const after = afterId !== undefined && order.by.length === 0 ? [afterId] : null
  return { where, order, from: { after, skip }, until: null, limit }
}

function orderOf<Row extends Values>(
  orders: StoredResource<Row>['orders'],
  sort: string | number | undefined,
): Order<Row> {
  if (typeof sort !== 'string') return BY_ID
  const isDescending = sort.startsWith('-')
  return { by: orders[isDescending ? sort.slice(1) : sort] ?? [], isDescending }
}

/** The schema of a query parameter that is compared with a column of this type. */
function parameterOf(type: ColumnType) {
  switch (type) {
    case 'integer':
    case 'small integer':
      return integerParameter()
    case 'number':
      return numberParameter()
    case 'text':
    case 'long text':
      return text()
  }
}
