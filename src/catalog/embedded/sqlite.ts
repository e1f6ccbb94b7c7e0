import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { CHUNK_MAX_CHARACTERS, type Chunk } from '../lists/listing.ts'
import type { ReadItem } from '../lists/sqlite.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** An array that resources show of a neighbour: the rows that refer to their owner by a key. */
interface EmbeddedArray {
  readonly owners: string
  readonly rows: string
  readonly key: string
  /** The index that has an owner's rows in order of id. */
  readonly index: string
  readonly columns: readonly string[]
}

export const PRODUCT_COLUMNS = ['id', 'name', 'description', 'price'] as const
const REVIEW_COLUMNS = ['id', 'product_id', 'user_id', 'rating', 'comment'] as const

export const REVIEWS_OF_PRODUCT: EmbeddedArray = {
  owners: 'products',
  rows: 'reviews',
  key: 'product_id',
  index: 'reviews_by_product',
  columns: REVIEW_COLUMNS,
}

export const REVIEWS_OF_USER: EmbeddedArray = {
  owners: 'users',
  rows: 'reviews',
  key: 'user_id',
  index: 'reviews_by_user',
  columns: REVIEW_COLUMNS,
}

export const PRODUCTS_OF_CATEGORY: EmbeddedArray = {
  owners: 'categories',
  rows: 'products',
  key: 'category_id',
  index: 'products_by_category',
  columns: PRODUCT_COLUMNS,
}

/** The SQL of a JSON object that has the row's columns as they are. */
export function jsonObject(row: string, columns: readonly string[]): string {
  return `json_object(${columns.map(column => `'${column}', ${row}.${column}`).join(', ')})`
}

/**
 * The SQL of an owner's JSON object with its array as a last member. The array is put in as text, since SQLite would parse
 * it anew to put it in as JSON; what is cut off is one brace, as a string that ends with one has its quote after it.
 */
export function withArray(object: string, name: string, array: EmbeddedArray, owner: string): string {
  return `rtrim(${object}, '}') || ',"${name}":' || ${arrayJson(array, owner)} || '}'`
}

/** The SQL of one owner's array as JSON text; `owner` is the SQL of the owner's id. */
function arrayJson({ rows, key, index, columns }: EmbeddedArray, owner: string): string {
  return `(
    SELECT json_group_array(${jsonObject('embedded', columns)})
    FROM (SELECT * FROM ${rows} INDEXED BY ${index} WHERE ${key} = ${owner} ORDER BY id LIMIT ${EMBEDDED_MAX}) AS embedded)`
}

/** The SQL of the last id that one owner's array shows, where there are more; else NULL. */
export function cutAfterId({ rows, key, index }: EmbeddedArray, owner: string): string {
  return `(
    SELECT min(id) FROM (
      SELECT id FROM ${rows} INDEXED BY ${index} WHERE ${key} = ${owner} ORDER BY id LIMIT 2 OFFSET ${EMBEDDED_MAX - 1})
    HAVING count(*) = 2)`
}

/** How the rows of an array are put under their owners. */
interface Embedding<Owner, Row, Item> {
  readonly ownerOf: (row: Row) => number
  /** The characters of a row that may be long. */
  readonly weight: (row: Row) => number
  readonly itemOf: (owner: Owner, rows: Row[]) => Item
}

/**
 * Prepares the statements for the arrays of many owners at once, not one query for each. The function that comes back
 * gives each owner of a chunk its rows; where they are heavy, the chunk ends before the first owner that lacks some.
 * `condition` is more SQL about the owner and takes the `parameters`; without one, a chunk holds all owners of a range.
 */
export function embedding<
  Owner extends { readonly id: number },
  Row,
  Item,
  Parameters extends (string | number)[] = [],
>(
  database: SqliteDatabase,
  array: EmbeddedArray,
  { ownerOf, weight, itemOf }: Embedding<Owner, Row, Item>,
  condition?: string,
): (owners: Chunk<Owner>, ...parameters: Parameters) => Chunk<ReadItem> {
  const { owners: table, rows, key, index, columns } = array
  const selected = [...new Set([...columns, key])].map(column => `embedded.${column}`).join(', ')
  const joined = `
    SELECT ${selected} FROM ${table} AS owner CROSS JOIN ${rows} AS embedded INDEXED BY ${index}
    WHERE owner.id BETWEEN ? AND ? AND ${condition ?? 'TRUE'} AND embedded.${key} = owner.id`
  // With all owners of the range, their rows are one range of the index.
  const ranged = `SELECT ${selected} FROM ${rows} AS embedded INDEXED BY ${index} WHERE embedded.${key} BETWEEN ? AND ?`
  const order = `ORDER BY embedded.${key}, embedded.id`
  const selectAll = database.prepare<[firstId: number, lastId: number, ...Parameters], Row>(
    `${condition ? joined : ranged} ${order}`,
  )
  // Finds the last id that fits for each owner, so that of a million rows no more than those is read.
  const selectFirst = database.prepare<[firstId: number, lastId: number, ...Parameters], Row>(`${joined}
    AND embedded.id <= coalesce(
      (SELECT id FROM ${rows} INDEXED BY ${index} WHERE ${key} = owner.id ORDER BY id LIMIT 1 OFFSET ${EMBEDDED_MAX - 1}),
      9223372036854775807)
    ${order}`)

  return ({ items: owners, more }, ...parameters) => {
    const [first, last] = [owners[0], owners.at(-1)]
    if (!first || !last) return { items: [], more }
    const items: ReadItem[] = []
    let owner: Owner | undefined = first
    let found: Row[] = []
    let characters = 0
    const finishOwner = () => {
      if (owner) {
        const json = JSON.stringify(itemOf(owner, found))
        items.push({ id: owner.id, json, whole: found.length < EMBEDDED_MAX })
      }
      found = []
      owner = owners[items.length]
    }
    /** Takes rows up to one that is beyond what its owner shows, or that the chunk has no room for. */
    const take = (source: Iterable<Row>): 'all' | 'too many' | 'too heavy' => {
      for (const row of source) {
        while (owner && owner.id !== ownerOf(row)) {
          finishOwner()
          if (characters > CHUNK_MAX_CHARACTERS) return 'too heavy'
        }
        if (found.length === EMBEDDED_MAX) return 'too many'
        found.push(row)
        characters += weight(row)
      }
      return 'all'
    }
    let taken = take(selectAll.iterate(first.id, last.id, ...parameters))
    if (taken === 'too many') {
      finishOwner()
      taken = owner ? take(selectFirst.iterate(owner.id, last.id, ...parameters)) : 'all'
    }
    if (taken === 'too heavy') return { items, more: true }
    while (owner) finishOwner()
    return { items, more }
  }
}
