import type { Change } from '../../database/change.ts'
import type { NestedArray, StoredResource, Values } from './resource.ts'

/** The ids that a row references, by column. */
export type References = Readonly<Record<string, number | null>>

/** The properties of a `StoredResource` that the rule needs. */
export interface ChangeRule {
  readonly table: string
  readonly references: readonly { readonly column: string; readonly table: string }[]
  readonly array: NestedArray | null
}

/**
 * The one rule for the changes of a write, on every engine: the row itself, unless it is new, because nothing has shown it yet;
 * for each row that it references or referenced before, the set of rows that refer to that one; if it is created or deleted,
 * the set of the table's rows; and if it is deleted, the same for all rows that are deleted with it.
 *
 * A representation shows rows and sets of referring rows, so it stays the same until one of these changes (`cache/`).
 * `before` and `after` are the references of the row; `null` if the row does not exist.
 */
export function changesOf(
  { table, references, array }: ChangeRule,
  id: number,
  before: References | null,
  after: References | null,
): Change[] {
  const changes: Change[] = before === null ? [] : [{ table, id, part: 'row' }]
  for (const { column, table: owners } of references) {
    const owner = before?.[column] ?? null
    const newOwner = after?.[column] ?? null
    if (owner !== null) changes.push({ table: owners, id: owner, part: 'referring rows' })
    if (newOwner !== null && newOwner !== owner) changes.push({ table: owners, id: newOwner, part: 'referring rows' })
  }
  if (before === null || after === null) changes.push({ table, id: 'any', part: 'all rows' })
  if (after === null && array) {
    changes.push({ table, id, part: 'referring rows' })
    if (array.onDelete === 'cascade') {
      changes.push({ table: array.table, id: 'any', part: 'all rows' })
      for (const others of array.alsoShownBy) changes.push({ table: others, id: 'any', part: 'referring rows' })
    }
  }
  return changes
}

/** The references among a row's values. */
export function referencesOf<Row extends Values>({ references }: StoredResource<Row>, values: Values): References {
  return Object.fromEntries(
    references.map(({ column }) => {
      const value = values[column]
      return [column, typeof value === 'number' ? value : null]
    }),
  )
}
