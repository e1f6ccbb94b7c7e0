export interface Migration {
  /** A number, the part's name, and what it does if it is not the first: `0001_catalog`, `0004_catalog_ids`. */
  readonly name: string
  readonly sql: string
}

/** How the tables of one part are made, step by step; a released migration never changes. */
export interface Migrations {
  readonly part: string
  readonly sqlite: readonly Migration[]
  readonly postgres: readonly Migration[]
}

/**
 * A migration that was applied by a newer version of the program. Those of parts that are not asked for are no concern:
 * each part makes and reads its own tables alone.
 */
export function unknownMigration(
  parts: readonly Migrations[],
  known: readonly Migration[],
  applied: ReadonlySet<string>,
): string | undefined {
  const isOfPart = (name: string) => parts.some(({ part }) => part === /^\d+_([a-z]+)/.exec(name)?.[1])
  return [...applied].find(name => isOfPart(name) && !known.some(migration => migration.name === name))
}
