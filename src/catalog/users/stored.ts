import { REVIEW_COLUMNS } from '../storage/nested-columns.ts'
import { type IndexedResource, idFilter, nameIndex } from '../storage/resource.ts'
import { ofEachFlag, PASSWORD_MASK, type UserCreate } from './schema.ts'

/** With the hash of the password instead of the password. */
export type UserRow = Readonly<Omit<UserCreate, 'password'> & { password_hash: string }>

const FLAGS = ['is_active', 'is_admin', 'is_banned', 'is_blocked', 'is_deleted', 'is_suspended', 'is_verified'] as const

export const USERS: IndexedResource<UserRow> = {
  name: 'User',
  table: 'users',
  columns: {
    name: 'text',
    email: 'text',
    avatar: 'long text',
    password_hash: 'text',
    ...ofEachFlag('integer'),
  },
  members: ['name', 'email', 'avatar', { name: 'password', text: PASSWORD_MASK }, ...FLAGS],
  furtherMembers: [],
  references: [],
  keptOnUpdate: [],
  array: {
    table: 'reviews',
    key: 'user_id',
    index: 'reviews_by_user',
    isWide: true,
    columns: REVIEW_COLUMNS,
    onDelete: 'cascade',
    followedOnDelete: 'product_id',
    alsoShownBy: ['products'],
  },
  followed: [],
  lists: [],
  filters: { id: idFilter('users') },
  orders: { name: { by: ['sort_name'], source: 'index' } },
  index: nameIndex('users', 'user', 'email'),
}
