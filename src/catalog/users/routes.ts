import { z } from '@hono/zod-openapi'
import type { Awaitable } from '../../awaitable.ts'
import type { RequestScope } from '../../server/requests.ts'
import { expectedRevisions } from '../http/entity-tag.ts'
import { listParameters, listQuery } from '../http/lists/page.ts'
import { listResponse } from '../http/lists/response.ts'
import { type Catalog, noInput, operation } from '../http/operation.ts'
import { resourceResponse } from '../http/responses.ts'
import { integerParameter } from '../http/validation/fields.ts'
import type { Representation } from '../storage/representation.ts'
import type { Absent, Changed, ResourceStore } from '../storage/store.ts'
import type { PasswordHasher } from './password.ts'
import { PASSWORD_MASK, User, UserCreate, UserUpdate } from './schema.ts'
import { USERS, type UserRow } from './stored.ts'

const UserPath = z.object({ user_id: integerParameter() })

/** The members that all contracts of this resource share. */
const shared = { ...noInput, tag: 'Users' }

export function addUsers(catalog: Catalog, users: ResourceStore<UserRow>, hashPassword: PasswordHasher): void {
  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_users_users__get',
      method: 'get',
      url: '/users/',
      summary: 'Read Users',
      query: listParameters(USERS),
      response: z.array(User),
    },
    ({ query }, scope) => listResponse(users, listQuery(USERS, query), query, scope),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'create_user_users__post',
      method: 'post',
      url: '/users/',
      summary: 'Create User',
      body: UserCreate,
      response: User,
    },
    async ({ body: { password, ...user } }, scope, claim) => {
      const password_hash = await hashPassword(password, scope.request.signal)
      return resourceResponse(scope, 'User', users.create({ ...user, password_hash }, claim))
    },
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'read_user_users__user_id__get',
      method: 'get',
      url: '/users/{user_id}',
      summary: 'Read User',
      path: UserPath,
      response: User,
      absent: ['User'],
    },
    ({ path }, scope) => respond(scope, path.user_id, users.find(path.user_id)),
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'update_user_users__user_id__patch',
      method: 'patch',
      url: '/users/{user_id}',
      summary: 'Update User',
      path: UserPath,
      body: UserUpdate,
      specifiedBody: UserCreate,
      response: User,
      absent: ['User'],
    },
    async ({ path, body: { password, ...user } }, scope) => {
      const expected = expectedRevisions(scope.request)
      if (password === PASSWORD_MASK) {
        return respond(scope, path.user_id, users.update(path.user_id, user, expected))
      }
      // Hashing takes far longer than this check.
      if (!(await users.exists(path.user_id))) return resourceResponse(scope, 'User', null)
      const password_hash = await hashPassword(password, scope.request.signal)
      return respond(scope, path.user_id, users.update(path.user_id, { ...user, password_hash }, expected))
    },
  )

  operation(
    catalog,
    {
      ...shared,
      operationId: 'delete_user_users__user_id__delete',
      method: 'delete',
      url: '/users/{user_id}',
      summary: 'Delete User',
      path: UserPath,
      response: User,
      absent: ['User'],
    },
    ({ path }, scope) => respond(scope, path.user_id, users.delete(path.user_id, expectedRevisions(scope.request))),
  )
}

function respond(scope: RequestScope, id: number, found: Awaitable<Representation | Absent | Changed | null>) {
  return resourceResponse(scope, 'User', found, ({ shownItems }) => `/reviews/users/${id}?skip=${shownItems}`)
}
