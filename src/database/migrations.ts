export interface Migration {
  /** A number, the part's name and, except for the first one, a description: `0001_catalog`, `0004_catalog_ids`. */
  readonly name: string
  readonly sql: string
}

/** The migrations of one part, in order, for each engine. A released migration never changes. */
export interface Migrations {
  readonly part: string
  readonly sqlite: readonly Migration[]
  readonly postgres: readonly Migration[]
}

/**
 * Finds an applied migration that only a newer version of the program knows. Looks at these parts alone, because each part
 * uses only its own tables.
 */
export function unknownMigration(
  parts: readonly Migrations[],
  known: readonly Migration[],
  applied: ReadonlySet<string>,
): string | undefined {
  const isOfPart = (name: string) => parts.some(({ part }) => part === /^\d+_([a-z]+)/.exec(name)?.[1])
  return [...applied].find(name => isOfPart(name) && !known.some(migration => migration.name === name))
}
