import { z } from '@hono/zod-openapi'
import { EmbeddedReview } from '../http/nested.ts'
import { fault } from '../http/validation/errors.ts'
import { id, integer, text } from '../http/validation/fields.ts'
import { stricter } from '../http/validation/stricter.ts'
import { NESTED_MAX } from '../storage/resource.ts'

/** Responses show this for a password, as Pydantic's `SecretStr` does. An update with it keeps the stored password. */
export const PASSWORD_MASK = '**********'

const person = {
  name: text({ minLength: 3, maxLength: 50 }),
  email: text({ minLength: 3, maxLength: 50 }),
  avatar: text(),
  password: text(),
}

const flag = integer()
const off = flag.default(0)

export const FLAGS = {
  is_active: flag.default(1),
  is_admin: off,
  is_banned: off,
  is_blocked: off,
  is_deleted: off,
  is_suspended: off,
  is_verified: off,
}

/** Without defaults, so that an update without a flag keeps it: forgetting one must not lift a ban. */
const kept = flag.optional()

const keptFlags = {
  is_active: kept,
  is_admin: kept,
  is_banned: kept,
  is_blocked: kept,
  is_deleted: kept,
  is_suspended: kept,
  is_verified: kept,
}

export const UserCreate = z
  .object({
    ...person,
    password: text(undefined, { not: { const: PASSWORD_MASK } }).superRefine((value, context) => {
      if (value === PASSWORD_MASK) context.addIssue(fault.value('the mask of a password is not a password'))
    }),
    ...FLAGS,
  })
  .openapi('UserCreate')

/** The specification's `UserCreate` as an update reads it. */
export const UserUpdate = z.object({ ...person, ...keptFlags }).openapi('UserUpdate')

const mask = z.string().openapi(stricter({ const: PASSWORD_MASK }))

export const User = z
  .object({
    id,
    ...person,
    password: mask,
    ...FLAGS,
    reviews: z.array(EmbeddedReview).max(NESTED_MAX).optional(),
  })
  .openapi('User')

export type UserCreate = z.output<typeof UserCreate>
