import type { Table } from '../database/table.ts'

export const catalogTables: readonly Table[] = [
  { name: 'categories', key: 'id', columns: { id: 'integer', name: 'text', description: 'text' } },
  {
    name: 'products',
    key: 'id',
    columns: { id: 'integer', category_id: 'integer', name: 'text', price: 'number', description: 'text' },
  },
  {
    name: 'users',
    key: 'id',
    columns: {
      id: 'integer',
      name: 'text',
      email: 'text',
      password_hash: 'text',
      is_active: 'integer',
      is_admin: 'integer',
      is_banned: 'integer',
      is_blocked: 'integer',
      is_deleted: 'integer',
      is_suspended: 'integer',
      is_verified: 'integer',
      avatar: 'text',
    },
  },
  {
    name: 'reviews',
    key: 'id',
    columns: { id: 'integer', product_id: 'integer', user_id: 'integer', rating: 'integer', comment: 'text' },
  },
]
