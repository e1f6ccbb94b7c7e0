import { type Cursor, type ListQuery, typeOf } from '../../storage/query.ts'
import type { ColumnType, StoredResource, Value, Values } from '../../storage/resource.ts'
import { readJson } from '../validation/json.ts'

/** The form of a cursor. Others are refused. */
const FORMAT = 1

/** A longer text, or one with other characters, is no cursor. */
const CURSOR = /^[\w-]{1,700}$/

/** PostgreSQL stores a small integer in 16 bits, and fails at a larger one. */
const SMALL_INTEGER_MAX = 32_767

/** The list that a cursor belongs to. */
type Listed<Row extends Values> = Pick<ListQuery<Row>, 'where' | 'search' | 'order'>

/**
 * The text of a place in a list: base64url of a JSON array with the format, a hash of the list, and the place. It is not signed,
 * because it has only what the client has just been shown, and is validated as any input is.
 */
export function cursorOf<Row extends Values>(table: string, list: Listed<Row>, place: Cursor): string {
  return Buffer.from(JSON.stringify([FORMAT, hashOf(table, list), ...place])).toString('base64url')
}

/** The place that a cursor names; `null` if it is none, or one of another list. */
export function placeIn<Row extends Values>(
  cursor: string,
  resource: StoredResource<Row>,
  list: Listed<Row>,
): Cursor | null {
  if (!CURSOR.test(cursor)) return null
  const json = readJson(Buffer.from(cursor, 'base64url'))
  if (!('value' in json && Array.isArray(json.value))) return null
  const [format, hash, ...place]: unknown[] = json.value
  if (format !== FORMAT || hash !== hashOf(resource.table, list)) return null
  const types = [...list.order.by.map(column => typeOf(resource, column)), 'integer' as const]
  const fits = (value: unknown, at: number): value is Value => isOf(types[at], value)
  return place.length === types.length && place.every(fits) ? place : null
}

/** Of the values of the parameters, not of their spelling. 32 bits tell lists apart well enough, and protect nothing. */
function hashOf<Row extends Values>(table: string, { where, search, order }: Listed<Row>): number {
  return Bun.hash.xxHash32(JSON.stringify([table, where, search, order]))
}

function isOf(type: ColumnType | undefined, value: unknown): boolean {
  if (type === 'text' || type === 'long text') {
    return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
  }
  if (type === 'number') return Number.isFinite(value)
  return Number.isSafeInteger(value) && (type !== 'small integer' || Math.abs(Number(value)) <= SMALL_INTEGER_MAX)
}
