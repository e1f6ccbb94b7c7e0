import type { Catalog, LinesContract } from '../http/operation.ts'
import { resourceOperations } from '../http/resource-operations.ts'
import type { ResourceStore } from '../storage/store.ts'
import type { PasswordHasher } from './password.ts'
import { PASSWORD_MASK, User, UserCreate, UserUpdate } from './schema.ts'
import { USERS, type UserRow } from './stored.ts'

export function addUsers(
  catalog: Catalog,
  store: ResourceStore<UserRow>,
  lines: LinesContract,
  hashPassword: PasswordHasher,
): void {
  const { list, create, find, update, remove } = resourceOperations(catalog, {
    resource: USERS,
    store,
    tag: 'Users',
    url: '/users/{user_id}',
    shape: User,
    restOf: (id, { shownItems }) => `/reviews/users/${id}?skip=${shownItems}`,
  })

  list('read_users', '/users/', 'selectable')
  create('create_user', '/users/', { body: UserCreate, lines }, async ({ password, ...user }, _, { request }) => ({
    ...user,
    password_hash: await hashPassword(password, request.signal),
  }))

  find('read_user')
  update(
    'update_user',
    {
      ...{ method: 'patch', body: UserUpdate, specifiedBody: UserCreate },
      description: 'Sets all its fields. A flag that is left out keeps its value.',
    },
    async ({ password, ...user }, id, { request }) => {
      if (password === PASSWORD_MASK) return user
      // Hashing takes far longer than this check.
      if (!(await store.exists(id))) return null
      return { ...user, password_hash: await hashPassword(password, request.signal) }
    },
  )
  remove('delete_user')
}
