import type { LoggedTransaction } from '../../database/change.ts'

/** A place in the feed, right after an event. */
export interface EventPlace {
  readonly position: number
  readonly tag: number
  /** Of the event among those of its transaction. */
  readonly index: number
}

/** Digits of a tag in the id, which are base 36. */
const BASE = 36

const ID = /^([0-9]{1,16})(?:-([0-9]{1,4}))?\.([0-9a-z]{1,8})$/

/** The opaque id of a place: `1042.k3f9`, or `1042-1.k3f9` for the second event of a transaction. */
export function eventIdOf({ position, tag, index }: EventPlace): string {
  return `${position}${index > 0 ? `-${index}` : ''}.${tag.toString(BASE)}`
}

/** `null` if the text is no id. */
export function eventPlaceIn(id: string): EventPlace | null {
  const [, position, index = '0', tag = ''] = ID.exec(id) ?? []
  return position === undefined
    ? null
    : { position: Number(position), index: Number(index), tag: Number.parseInt(tag, BASE) }
}

/** The place after all events of a transaction. */
export function endOf({ position, tag }: LoggedTransaction, events: number): EventPlace {
  return { position, tag, index: Math.max(events - 1, 0) }
}

/** Whether an event comes after a place. */
export function isAfter(event: EventPlace, place: EventPlace): boolean {
  return event.position > place.position || (event.position === place.position && event.index > place.index)
}
