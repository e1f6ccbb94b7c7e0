import type { Representation } from '../representation.ts'
import type { ListItem } from './listing.ts'
import { NESTED_MAX } from './resource.ts'

/** Text of a heavy array that is read at a time, unless one item alone has more. */
export const PIECE_CHARACTERS = 262_144

/** Reads the items of an array that follow the item `afterId`: at most `limit`, or fewer if they are heavy. */
export type ReadItems = (afterId: number, limit: number) => Promise<readonly ListItem[]>

/** A resource whose array is too heavy to be held in memory whole. */
interface HeavyResource {
  /** As JSON, with an empty array as its last member. */
  readonly emptyJson: string
  /** The ids of all the items that it shows. */
  readonly ids: readonly number[]
  /** The first of them. */
  readonly items: readonly ListItem[]
  readonly cutAfterId: number | null
}

/**
 * Sends a heavy resource as a long list is sent: the items that were read first, then the others in pieces, each read when
 * the client has taken the one before. Items that are deleted meanwhile are missing.
 */
export function heavyRepresentation(
  { emptyJson, ids, items, cutAfterId }: HeavyResource,
  read: ReadItems,
): Representation {
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
