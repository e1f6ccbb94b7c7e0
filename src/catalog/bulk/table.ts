import type { Table, TableColumnType } from '../../database/table.ts'
import type { ColumnType, StoredResource, Values } from '../storage/resource.ts'

const TABLE_TYPE: Readonly<Record<ColumnType, TableColumnType>> = {
  text: 'text',
  'long text': 'text',
  integer: 'integer',
  'small integer': 'integer',
  number: 'number',
}

/** The part of a resource's description that is needed to store its rows. */
export type StoredRows = Pick<StoredResource<Values>, 'name' | 'table' | 'columns' | 'references'>

/** A number of resources as people read it: 1 category, 2 categories. */
export function counted({ name, table }: StoredRows, count: number): string {
  return `${count} ${count === 1 ? name.toLowerCase() : table}`
}

/** The table of a resource, without the revisions, which the database makes. */
export function tableOf({ table, columns }: StoredRows): Table {
  const types = Object.entries<ColumnType>(columns).map(([name, type]) => [name, TABLE_TYPE[type]] as const)
  return { name: table, key: 'id', columns: { id: 'integer', ...Object.fromEntries(types) } }
}
