import type { SqliteDatabase, SqliteTransaction } from '../../database/sqlite/database.ts'
import { CHUNK_MAX_CHARACTERS, type Chunk, type ListItem } from '../lists/listing.ts'
import { chunkOf, type ReadItem } from '../lists/sqlite.ts'
import type { Representation } from '../representation.ts'
import { deleteHeavy } from './deleted.ts'
import { heavyRepresentation, PIECE_CHARACTERS } from './heavy.ts'
import { EMBEDDED_MAX } from './schema.ts'

/** An array that resources show of a neighbour: the rows that refer to their owner by a key. */
interface EmbeddedArray {
  readonly owners: string
  readonly rows: string
  readonly key: string
  /** The index that has an owner's rows in order of id. */
  readonly index: string
  /** Those that items show, and the key. */
  readonly columns: readonly string[]
  /** What the schema does with the rows when their owner is deleted. */
  readonly onDelete: 'cascade' | 'set null'
}

/** Rows of an array that are deleted in one turn of the event loop. */
const REMOVED_AT_ONCE = 50

export const PRODUCT_COLUMNS = ['id', 'name', 'description', 'price'] as const
const REVIEW_COLUMNS = ['id', 'product_id', 'user_id', 'rating', 'comment'] as const

export const REVIEWS_OF_PRODUCT: EmbeddedArray = {
  owners: 'products',
  rows: 'reviews',
  key: 'product_id',
  index: 'reviews_by_product',
  columns: REVIEW_COLUMNS,
  onDelete: 'cascade',
}

export const REVIEWS_OF_USER: EmbeddedArray = {
  owners: 'users',
  rows: 'reviews',
  key: 'user_id',
  index: 'reviews_by_user',
  columns: REVIEW_COLUMNS,
  onDelete: 'cascade',
}

export const PRODUCTS_OF_CATEGORY: EmbeddedArray = {
  owners: 'categories',
  rows: 'products',
  key: 'category_id',
  index: 'products_by_category',
  columns: [...PRODUCT_COLUMNS, 'category_id'],
  onDelete: 'set null',
}

/** How a resource is made of its own row and those of its array, which is its last member. */
export interface Embedding<Owner, Row, Item, Resource> {
  readonly array: EmbeddedArray
  /** Of the owner: those that the resource shows, in SQL. */
  readonly columns: string
  readonly ownerOf: (row: Row) => number
  /** The characters of a row that may be long. */
  readonly weight: (row: Row) => number
  readonly itemOf: (row: Row) => Item
  readonly resourceOf: (owner: Owner, items: Item[]) => Resource
}

interface Identified {
  readonly id: number
}

/** What prepares statements and reads with them: the database, or one transaction on it. */
export interface Reading extends SqliteTransaction {
  snapshot<Result>(read: () => Result): Result
}

/** Prepares the statements that read one resource by its id. */
export function finding<Owner extends Identified, Row extends Identified, Item extends Identified>(
  reading: Reading,
  embedded: Embedding<Owner, Row, Item, unknown>,
): (id: number) => Representation | null {
  const select = reading.prepare<[id: number], Owner>(
    `SELECT ${embedded.columns} FROM ${embedded.array.owners} WHERE id = ?`,
  )
  const resource = resources(reading, embedded)
  return id => {
    const owner = select.get(id)
    return owner && resource(owner)
  }
}

/**
 * Prepares the statements that delete one resource and tell what it was. One with many or heavy rows in its array goes in
 * a transaction of its own, a few rows at a time.
 */
export function deleting<Owner extends Identified, Row extends Identified, Item extends Identified>(
  database: SqliteDatabase,
  embedded: Embedding<Owner, Row, Item, unknown>,
): (id: number) => Promise<Representation | null> {
  const { owners, rows, key, index, onDelete } = embedded.array
  const find = finding(database, embedded)
  const removal = `DELETE FROM ${owners} WHERE id = ?`
  const some = `WHERE id IN (SELECT id FROM ${rows} INDEXED BY ${index} WHERE ${key} = ? LIMIT ${REMOVED_AT_ONCE})`
  const detachment = onDelete === 'cascade' ? `DELETE FROM ${rows} ${some}` : `UPDATE ${rows} SET ${key} = NULL ${some}`
  const remove = database.prepare<[id: number]>(removal)

  const deleteLarge = (id: number) =>
    deleteHeavy(hold =>
      database.bulk('writing', async transaction => {
        const found = finding({ prepare: sql => transaction.prepare(sql), snapshot: read => read() }, embedded)(id)
        const held = found && (await hold(found))
        const detach = transaction.prepare<[id: number]>(detachment)
        while (detach.run(id).changes > 0) await new Promise<void>(resolve => setImmediate(resolve))
        transaction.prepare<[id: number]>(removal).run(id)
        return held
      }),
    )

  return async id => {
    const found = await database.write(() => {
      const resource = find(id)
      const isLarge = resource !== null && (resource.rest !== undefined || resource.cutAfterId !== null)
      if (!isLarge) remove.run(id)
      return { resource, isLarge }
    })
    return found.isLarge ? deleteLarge(id) : found.resource
  }
}

/**
 * Prepares the statements for the array of one owner at a time. The function that comes back makes a resource of its
 * row; it reads no more of the array than may be held in memory at once.
 */
function resources<Owner extends Identified, Row extends Identified, Item extends Identified>(
  reading: Reading,
  { array: { rows, key, index, columns }, weight, itemOf, resourceOf }: Embedding<Owner, Row, Item, unknown>,
): (owner: Owner) => Representation {
  const ofOwner = `FROM ${rows} INDEXED BY ${index} WHERE ${key} = ? AND id > ? ORDER BY id LIMIT ?`
  const selectRows = reading.prepare<[ownerId: number, afterId: number, limit: number], Row>(
    `SELECT ${columns.join(', ')} ${ofOwner}`,
  )
  const selectIds = reading.prepare<[ownerId: number, afterId: number, limit: number], Identified>(
    `SELECT id ${ofOwner}`,
  )

  const read = (ownerId: number, afterId: number, limit: number, charactersMax?: number) =>
    chunkOf(selectRows.iterate(ownerId, afterId, limit + 1), limit, weight, charactersMax)

  return owner => {
    const chunk = read(owner.id, 0, EMBEDDED_MAX)
    const items = chunk.items.map(itemOf)
    const isCut = items.length === EMBEDDED_MAX && chunk.more
    if (!chunk.more || isCut) {
      const json = JSON.stringify(resourceOf(owner, items))
      return { json, cutAfterId: isCut ? (items.at(-1)?.id ?? null) : null }
    }
    const ids = selectIds.all(owner.id, 0, EMBEDDED_MAX + 1).map(({ id }) => id)
    return heavyRepresentation(
      {
        emptyJson: JSON.stringify(resourceOf(owner, [])),
        ids: ids.slice(0, EMBEDDED_MAX),
        items: items.map(listItemOf),
        cutAfterId: ids.length > EMBEDDED_MAX ? (ids[EMBEDDED_MAX - 1] ?? null) : null,
      },
      async (afterId, limit) =>
        reading.snapshot(() =>
          read(owner.id, afterId, limit, PIECE_CHARACTERS).items.map(row => listItemOf(itemOf(row))),
        ),
    )
  }
}

function listItemOf(item: Identified): ListItem {
  return { id: item.id, json: JSON.stringify(item) }
}

/**
 * Prepares the statements for the arrays of many owners at once, not one query for each. The function that comes back
 * gives each owner of a chunk its rows. If they are heavy, the chunk ends before the first owner that lacks some; one
 * owner that is too heavy by itself is a chunk of its own.
 * `condition` is more SQL about the owner and takes the `parameters`; without one, a chunk holds all owners of a range.
 */
export function embedding<
  Owner extends Identified,
  Row extends Identified,
  Item extends Identified,
  Parameters extends (string | number)[] = [],
>(
  database: SqliteDatabase,
  embedded: Embedding<Owner, Row, Item, unknown>,
  condition?: string,
): (owners: Chunk<Owner>, ...parameters: Parameters) => Chunk<ReadItem> {
  const { array, ownerOf, weight, itemOf, resourceOf } = embedded
  const { owners: table, rows, key, index, columns } = array
  const alone = resources(database, embedded)
  const selected = columns.map(column => `embedded.${column}`).join(', ')
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
    let found: Item[] = []
    let characters = 0
    const finishOwner = () => {
      if (owner) {
        const json = JSON.stringify(resourceOf(owner, found))
        items.push({ id: owner.id, json, whole: found.length < EMBEDDED_MAX })
      }
      found = []
      owner = owners[items.length]
    }
    /** Takes rows up to one that is beyond what its owner shows, or that the chunk has no room for. */
    const take = (source: Iterable<Row>): 'all' | 'too many' | 'too heavy' => {
      for (const row of source) {
        while (owner && owner.id !== ownerOf(row)) finishOwner()
        if (found.length === EMBEDDED_MAX) return 'too many'
        if (characters > CHUNK_MAX_CHARACTERS) return 'too heavy'
        found.push(itemOf(row))
        characters += weight(row)
      }
      return 'all'
    }
    let taken = take(selectAll.iterate(first.id, last.id, ...parameters))
    if (taken === 'too many') {
      finishOwner()
      taken = owner ? take(selectFirst.iterate(owner.id, last.id, ...parameters)) : 'all'
    }
    if (taken === 'too heavy' && items.length === 0) {
      return { items: [{ id: first.id, ...alone(first), whole: false }], more: more || owners.length > 1 }
    }
    if (taken === 'too heavy') return { items, more: true }
    while (owner) finishOwner()
    return { items, more }
  }
}
