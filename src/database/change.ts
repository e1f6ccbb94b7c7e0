import type { Awaitable } from '../awaitable.ts'

/**
 * The row itself; or the set of rows in other tables that refer to it, with their contents; or the set of all rows of the
 * table, with the id `any`.
 */
const PARTS = ['row', 'referring rows', 'all rows'] as const

/** A change that a commit made. */
export interface Change {
  readonly table: string
  /** `any` if the write cannot tell which rows. */
  readonly id: number | 'any'
  readonly part: (typeof PARTS)[number]
}

/** Tells the cache about changes. Each database is one. */
export interface ChangeSource {
  /** `unknown` stands for commits that do not say what they changed. */
  onChange(listener: (changes: readonly Change[] | 'unknown') => void): void
  /**
   * Tells the listener of every commit that was acknowledged before this call, then returns the result of `look`; `null` if
   * the database cannot know.
   */
  current<Result>(look: () => Result): Awaitable<Result | null>
}

/** The ids that changed of each part of each table, as JSON for the change log. */
export function encodeChanges(changes: readonly Change[]): string {
  const changed: Record<string, Change['id'][]> = {}
  for (const part of PARTS) {
    const tables = new Map<string, Set<Change['id']>>()
    for (const change of changes) {
      if (change.part !== part) continue
      const ids = tables.get(change.table)
      if (ids) ids.add(change.id)
      else tables.set(change.table, new Set([change.id]))
    }
    for (const [table, ids] of tables) changed[`${table} ${part}`] = [...ids]
  }
  return JSON.stringify(changed)
}

/** Leaves out parts that only a newer version of the program knows, since nothing is cached by them. */
export function decodeChanges(text: string): Change[] {
  const changed: Record<string, Change['id'][]> = JSON.parse(text)
  return Object.entries(changed).flatMap(([name, ids]) => {
    const part = PARTS.find(known => name.endsWith(` ${known}`))
    return part ? ids.map(id => ({ table: name.slice(0, -part.length - 1), id, part })) : []
  })
}
