import { z } from '@hono/zod-openapi'
import { jsonAnswer, notFound, resourceAnswer } from '../answers.ts'
import { EMBEDDED_MAX } from '../embedded/schema.ts'
import { listAnswer } from '../lists/answer.ts'
import { moreLink } from '../lists/link.ts'
import { PageQuery } from '../lists/page.ts'
import { type Catalog, type CatalogContext, noParameters, operation } from '../operation.ts'
import type { Representation } from '../representation.ts'
import { integer } from '../validation/fields.ts'
import { noBody } from '../validation/request.ts'
import type { PasswordHasher } from './password.ts'
import type { UserRepository } from './repository.ts'
import { PASSWORD_MASK, User, UserCreate, UserUpdate } from './schema.ts'

const UserPath = z.object({ user_id: integer() })

export function addUsers(catalog: Catalog, users: UserRepository, hashPassword: PasswordHasher): void {
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
    ({ query }, context) => listAnswer(users.all(), query, context),
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
    async ({ body: { password, ...user } }, context) =>
      jsonAnswer(await users.create({ ...user, passwordHash: await hashPassword(password, context.req.raw.signal) })),
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
    async ({ path }, context) => userAnswer(context, path.user_id, await users.find(path.user_id)),
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
        return userAnswer(context, path.user_id, await users.update(path.user_id, { ...user, passwordHash: null }))
      }
      // Hashing costs far more than this look.
      if (!(await users.exists(path.user_id))) return notFound('User')
      const passwordHash = await hashPassword(password, context.req.raw.signal)
      return userAnswer(context, path.user_id, await users.update(path.user_id, { ...user, passwordHash }))
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
    async ({ path }, context) => userAnswer(context, path.user_id, await users.delete(path.user_id)),
  )
}

function userAnswer(context: CatalogContext, id: number, found: Representation | null): Response {
  if (!found) return notFound('User')
  return resourceAnswer(found, context, () => moreLink(`/reviews/users/${id}?skip=${EMBEDDED_MAX}`))
}
