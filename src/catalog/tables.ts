import type { Table, ColumnType as TableColumnType } from '../database/table.ts'
import type { Storage } from '../part.ts'
import { CATEGORIES } from './categories/stored.ts'
import { catalogMigrations } from './migrations/index.ts'
import { PRODUCTS } from './products/stored.ts'
import { REVIEWS } from './reviews/stored.ts'
import { buildSearchIndex } from './search-index.ts'
import type { ColumnType, StoredResource, Values } from './storage/resource.ts'
import { USERS } from './users/stored.ts'

const TABLE_TYPE: Readonly<Record<ColumnType, TableColumnType>> = {
  text: 'text',
  'long text': 'text',
  integer: 'integer',
  'small integer': 'integer',
  number: 'number',
}

export const catalogStorage: Storage = {
  migrations: catalogMigrations,
  complete: buildSearchIndex,
  tables: [
    tableOf(CATEGORIES),
    tableOf(PRODUCTS),
    tableOf(USERS),
    tableOf(REVIEWS),
    // A client that repeats a request at the copy must not create anything twice either.
    {
      name: 'idempotency_keys',
      key: 'key',
      columns: {
        key: 'text',
        fingerprint: 'text',
        created_at: 'integer',
        bytes: 'integer',
        answer: 'text',
        revision: 'integer',
      },
    },
    { name: 'idempotency_secrets', key: 'name', columns: { name: 'text', secret: 'text' } },
  ],
}

function tableOf<Row extends Values>({ table, columns }: StoredResource<Row>): Table {
  const types = Object.entries<ColumnType>(columns).map(([name, type]) => [name, TABLE_TYPE[type]] as const)
  return { name: table, key: 'id', columns: { id: 'integer', ...Object.fromEntries(types), revision: 'integer' } }
}
