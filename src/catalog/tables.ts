import type { Table } from '../database/table.ts'
import type { Storage } from '../part.ts'
import { type StoredRows, tableOf } from './bulk/table.ts'
import { CATEGORIES } from './categories/stored.ts'
import { catalogMigrations } from './migrations/index.ts'
import { PRODUCTS } from './products/stored.ts'
import { REVIEWS } from './reviews/stored.ts'
import { buildSearchIndex } from './search-index.ts'
import { afterCopy } from './storage/citus/loaded-rows.ts'
import { USERS } from './users/stored.ts'

export const catalogStorage: Storage = {
  migrations: catalogMigrations,
  complete: buildSearchIndex,
  tables: [
    withRevisions(CATEGORIES),
    withRevisions(PRODUCTS),
    withRevisions(USERS),
    withRevisions(REVIEWS),
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

function withRevisions(resource: StoredRows): Table {
  const table = tableOf(resource)
  return {
    ...table,
    isLogged: true,
    columns: { ...table.columns, revision: 'integer' },
    citusAfterCopy: afterCopy(resource.table),
  }
}
