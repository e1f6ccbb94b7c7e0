import type { Storage } from '../part.ts'
import { accessMigrations } from './migrations/index.ts'

export const accessStorage: Storage = {
  migrations: accessMigrations,
  tables: [
    {
      name: 'access_keys',
      key: 'name',
      columns: { name: 'text', sha256: 'text', scope: 'text', created_at: 'time' },
    },
  ],
}
