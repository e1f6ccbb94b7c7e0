import type { Change, LoggedTransaction } from '../../database/change.ts'
import { type EventPlace, eventIdOf } from './place.ts'

export type Resource = 'category' | 'product' | 'user' | 'review'

const RESOURCES: ReadonlyMap<string, Resource> = new Map([
  ['categories', 'category'],
  ['products', 'product'],
  ['users', 'user'],
  ['reviews', 'review'],
])

/** An event of the feed. It is made of the log alone, so it is the same for all followers on all nodes. */
export interface FeedEvent extends EventPlace {
  readonly id: string
  readonly type: string
  readonly resource: Resource
  /** The products that it is about; `null` if it may be about any. */
  readonly products: readonly number[] | null
  /** A CloudEvent, in one line. */
  readonly json: string
}

/** The part of an event that comes from the change. The id and the time come from its transaction. */
interface Content {
  readonly type: string
  readonly resource: Resource
  readonly subject?: string
  readonly products: readonly number[] | null
  readonly data: Readonly<Record<string, unknown>>
}

/** The events of a transaction, in their order. */
export function eventsOf({ position, tag, time, changes }: LoggedTransaction): FeedEvent[] {
  return changes.flatMap(contentsOf).map((event, index) => {
    const place = { position, tag, index }
    const id = eventIdOf(place)
    const { type, resource, products } = event
    return { ...place, id, type, resource, products, json: cloudEvent(id, time, event) }
  })
}

/** JSON in the format of CloudEvents 1.0. The time is in milliseconds since 1970. */
export function cloudEvent(id: string, time: number, event: Pick<Content, 'type' | 'subject' | 'data'>): string {
  const { type, subject, data } = event
  return JSON.stringify({
    specversion: '1.0',
    id,
    source: '/',
    type,
    subject,
    time: new Date(time).toISOString(),
    data,
  })
}

function contentsOf(change: Change): Content[] {
  const resource = RESOURCES.get(change.table)
  if (resource === undefined) return []
  if ('count' in change) return [imported(resource, change)]
  const { id, before, after, values, gone } = change
  const verb = after === null ? 'deleted' : before === null ? 'created' : 'updated'
  const type = `${resource}.${verb}`
  const subject = `/${change.table}/${id}`
  const row = { ...(after ?? before), ...values }
  switch (resource) {
    case 'category':
      return [{ type, resource, subject, products: [], data: after ? { id, name: row.name } : { id } }]
    case 'product': {
      const { name, price, category_id } = row
      return [{ type, resource, subject, products: [id], data: after ? { id, name, price, category_id } : { id } }]
    }
    case 'review': {
      const { product_id, user_id, rating } = row
      const from = verb === 'updated' ? { from_product_id: before?.product_id ?? null } : {}
      const products = [before?.product_id, after?.product_id].filter(product => typeof product === 'number')
      return [{ type, resource, subject, products, data: { id, product_id, user_id, rating, ...from } }]
    }
    case 'user': {
      const event: Content = { type, resource, subject, products: [], data: { id } }
      if (!gone) return [event]
      const data = { user_id: id, count: gone.count, product_ids: gone.of }
      return [{ type: 'reviews.deleted', resource: 'review', subject: '/reviews/', products: null, data }, event]
    }
  }
}

function imported(resource: Resource, change: Extract<Change, { count: number }>): Content {
  const { table, count, firstId, lastId } = change
  const products = resource === 'product' || resource === 'review' ? null : []
  const data = { count, first_id: firstId, last_id: lastId }
  return { type: `${table}.imported`, resource, subject: `/${table}/`, products, data }
}
