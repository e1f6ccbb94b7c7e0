import { z } from '@hono/zod-openapi'
import { PageQuery } from '../lists/page.ts'
import { listResponse } from '../lists/response.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { resourceResponse } from '../responses.ts'
import { NESTED_MAX } from '../storage/resource.ts'
import type { Absent, ResourceStore } from '../storage/store.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import type { PasswordHasher } from './password.ts'
import { PASSWORD_MASK, User, UserCreate, UserUpdate } from './schema.ts'
import type { UserRow } from './stored.ts'

const UserPath = z.object({ user_id: integer() })

export function addUsers(catalog: Catalog, users: ResourceStore<UserRow>, hashPassword: PasswordHasher): void {
  catalog.use('/users/*', async (context, next) => {
    await next()
    // Personal data: no cache on the way may keep it, be it of a list or of an answer that refuses something.
    context.res.headers.set('Cache-Control', 'no-store')
  })

  operation(
    catalog,
    {
      operationId: 'read_users_users__get',
      method: 'get',
      url: '/users/',
      tag: 'Users',
      summary: 'Read Users',
      path: noParameters,
      query: PageQuery,
      undescribed: ['after_id'],
      body: noBody,
      answer: z.array(User),
      absent: [],
    },
    ({ query }, context) => listResponse(users.list(), query, context),
  )

  operation(
    catalog,
    {
      operationId: 'create_user_users__post',
      method: 'post',
      url: '/users/',
      tag: 'Users',
      summary: 'Create User',
      path: noParameters,
      query: noParameters,
      body: UserCreate,
      answer: User,
      absent: [],
    },
    async ({ body: { password, ...user } }, context) => {
      const password_hash = await hashPassword(password, context.req.raw.signal)
      return resourceResponse(context, 'User', await users.create({ ...user, password_hash }))
    },
  )

  operation(
    catalog,
    {
      operationId: 'read_user_users__user_id__get',
      method: 'get',
      url: '/users/{user_id}',
      tag: 'Users',
      summary: 'Read User',
      path: UserPath,
      query: noParameters,
      body: noBody,
      answer: User,
      absent: ['User'],
    },
    async ({ path }, context) => respond(context, path.user_id, await users.find(path.user_id)),
  )

  operation(
    catalog,
    {
      operationId: 'update_user_users__user_id__patch',
      method: 'patch',
      url: '/users/{user_id}',
      tag: 'Users',
      summary: 'Update User',
      path: UserPath,
      query: noParameters,
      body: UserUpdate,
      answer: User,
      absent: ['User'],
    },
    async ({ path, body: { password, ...user } }, context) => {
      if (password === PASSWORD_MASK) {
        return respond(context, path.user_id, await users.update(path.user_id, user))
      }
      // Hashing costs far more than this look.
      if (!(await users.exists(path.user_id))) return resourceResponse(context, 'User', null)
      const password_hash = await hashPassword(password, context.req.raw.signal)
      return respond(context, path.user_id, await users.update(path.user_id, { ...user, password_hash }))
    },
  )

  operation(
    catalog,
    {
      operationId: 'delete_user_users__user_id__delete',
      method: 'delete',
      url: '/users/{user_id}',
      tag: 'Users',
      summary: 'Delete User',
      path: UserPath,
      query: noParameters,
      body: noBody,
      answer: User,
      absent: ['User'],
    },
    async ({ path }, context) => respond(context, path.user_id, await users.delete(path.user_id)),
  )
}

function respond(context: CatalogContext, id: number, found: Representation | Absent | null): Response {
  return resourceResponse(context, 'User', found, () => `/reviews/users/${id}?skip=${NESTED_MAX}`)
}
