import type { Change } from '../../../database/change.ts'
import type { ListQuery } from '../query.ts'
import type { IndexColumn, StoredResource, Values } from '../resource.ts'

/**
 * The parts of representations and pages: a row; the set of rows in other tables that refer to it, with their contents; the
 * set of all rows of its table.
 */
export type PartKind = 'row' | 'referring rows' | 'all rows'

export interface ChangedPart {
  readonly table: string
  /** `any` if it is not known which rows. */
  readonly id: number | 'any'
  readonly part: PartKind
}

/** The properties of a `StoredResource` that the rule needs. */
export type ShownRows = Pick<StoredResource<Values>, 'table' | 'references' | 'array'>

/**
 * The parts that a change affects: the row itself, unless it is new, because nothing has shown it yet; for each row that it
 * references or referenced before, the set of rows that refer to that one; if it is created or deleted, the set of the table's
 * rows; and if it is deleted, the same for all rows that are deleted with it. New rows that were loaded may reference any row.
 */
export function changedParts({ table, references, array }: ShownRows, change: Change): ChangedPart[] {
  if ('count' in change) {
    const ofAnyOwner = references.map(owner => ({ table: owner.table, id: 'any', part: 'referring rows' }) as const)
    return [{ table, id: 'any', part: 'all rows' }, ...ofAnyOwner]
  }
  const { id, before, after } = change
  const parts: ChangedPart[] = before === null ? [] : [{ table, id, part: 'row' }]
  for (const { column, table: owners } of references) {
    const owner = before?.[column] ?? null
    const newOwner = after?.[column] ?? null
    if (owner !== null) parts.push({ table: owners, id: owner, part: 'referring rows' })
    if (newOwner !== null && newOwner !== owner) parts.push({ table: owners, id: newOwner, part: 'referring rows' })
  }
  if (before === null || after === null) parts.push({ table, id: 'any', part: 'all rows' })
  if (after === null && array) {
    parts.push({ table, id, part: 'referring rows' })
    if (array.onDelete === 'cascade') {
      parts.push({ table: array.table, id: 'any', part: 'all rows' })
      for (const others of array.alsoShownBy) parts.push({ table: others, id: 'any', part: 'referring rows' })
    }
  }
  return parts
}

/** Columns of the index that say something of the rows which refer to a row. */
const OF_REFERRING_ROWS: readonly string[] = ['score', 'review_count', 'average'] satisfies IndexColumn[]

/**
 * All parts that the rows of a list and their order depend on. If the list has the rows that refer to one row, it is the set of
 * these; else all rows of the table. If it looks at values, it is every row as well, and every row that these refer to: with
 * some of those, a foreign key changes the value.
 */
export function dependsOn<Row extends Values>(
  { table, references }: ShownRows,
  { where, order, source }: ListQuery<Row>,
): readonly ChangedPart[] {
  const referred = references.filter(({ column }) => where.some(condition => condition.column === column))
  for (const { column, table: owners } of referred) {
    const id = where.find(condition => condition.column === column && condition.is === '=')?.value
    if (typeof id === 'number') return [{ table: owners, id, part: 'referring rows' }]
  }
  const all: ChangedPart = { table, id: 'any', part: 'all rows' }
  if (source === 'rows' && order.by.length === 0 && where.every(({ column }) => column === 'id')) return [all]
  const owners = referred.map(owner => ({ table: owner.table, id: 'any', part: 'all rows' }) as const)
  const columns = [...where.map(({ column }) => column), ...order.by]
  const isOfReferring = columns.some(column => OF_REFERRING_ROWS.includes(column))
  const referring: ChangedPart[] = isOfReferring ? [{ table, id: 'any', part: 'referring rows' }] : []
  return [all, { table, id: 'any', part: 'row' }, ...owners, ...referring]
}
