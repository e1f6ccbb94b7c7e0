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

/** The same for each flag of a user. */
export function ofEachFlag<const Value>(value: Value) {
  return {
    is_active: value,
    is_admin: value,
    is_banned: value,
    is_blocked: value,
    is_deleted: value,
    is_suspended: value,
    is_verified: value,
  }
}

const flag = integer()

export const FLAGS = { ...ofEachFlag(flag.default(0)), is_active: flag.default(1) }

/** Without defaults, so that an update without a flag keeps it: forgetting one must not lift a ban. */
const keptFlags = ofEachFlag(flag.optional())

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
