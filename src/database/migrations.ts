import { OperatorError } from '../program/operator-error.ts'

export interface Migration {
  /** The part's name, a number and, except for the first one, a description: `catalog_0001`, `catalog_0002_prices`. */
  readonly name: string
  readonly sql: string
}

/** The migrations of one part, in order, for each engine. A released migration never changes. */
export interface Migrations {
  readonly part: string
  readonly sqlite: readonly Migration[]
  readonly postgres: readonly Migration[]
  /** The first one distributes the part's tables over the servers of Citus; empty if they stay on the coordinator. */
  readonly citus: readonly Migration[]
}

/**
 * Refuses a database with a migration that this version of the program does not know. Looks at these parts alone, because each
 * part uses only its own tables.
 */
export function refuseUnknown(
  applied: ReadonlySet<string>,
  parts: readonly Migrations[],
  known: readonly Migration[],
  place: string,
): void {
  // Before the first release, names began with the number.
  if ([...applied].some(name => /^\d/.test(name))) {
    throw new OperatorError(
      `${place} was written by a build from before the first release, which cannot be migrated; use a new database`,
    )
  }
  const isOfPart = (name: string) => parts.some(({ part }) => name.startsWith(`${part}_`))
  const unknown = [...applied].find(name => isOfPart(name) && !known.some(migration => migration.name === name))
  if (unknown) {
    throw new OperatorError(`${place} was written by a newer version of stockroom (it has the migration ${unknown})`)
  }
}
