import type { Representation } from '../representation.ts'
import type { ListItem } from './listing.ts'
import { NESTED_MAX } from './resource.ts'

/** Limit on the weight of the items read at a time, unless a single one is heavier. */
export const PIECE_WEIGHT_MAX = 262_144

/** Reads the items of an array that follow the item `afterId`: at most `limit`, or fewer if they are heavy. */
export type ReadItems = (afterId: number, limit: number) => Promise<readonly ListItem[]>

/** A resource whose array is too long to be held in memory as a whole. */
interface HeavyResource {
  /** The resource as JSON, with an empty array as its last member. */
  readonly emptyJson: string
  /** The ids of all items that it shows. */
  readonly ids: readonly number[]
  /** The first items. */
  readonly items: readonly ListItem[]
  readonly cutAfterId: number | null
}

/**
 * Represents a heavy resource like a long list: first the items that have been read, then the others in pieces, each read
 * when the client has taken the one before. Items that are deleted in the meantime are missing.
 */
export function heavyRepresentation(
  { emptyJson, ids, items, cutAfterId }: HeavyResource,
  read: ReadItems,
): Omit<Representation, 'revision'> {
  const untilId = ids.at(-1) ?? 0
  const rest = async function* () {
    let lastId = items.at(-1)?.id ?? 0
    let shown = items.length
    while (lastId < untilId && shown < NESTED_MAX) {
      const next = (await read(lastId, NESTED_MAX - shown)).filter(({ id }) => id <= untilId)
      const last = next.at(-1)
      if (!last) break
      yield (shown === 0 ? '' : ',') + next.map(({ json }) => json).join(',')
      lastId = last.id
      shown += next.length
    }
    yield ']}'
  }
  return { json: emptyJson.slice(0, -']}'.length) + items.map(({ json }) => json).join(','), cutAfterId, rest }
}
