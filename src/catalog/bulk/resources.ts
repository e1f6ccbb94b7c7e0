import { z } from '@hono/zod-openapi'
import { CategoryCreate } from '../categories/schema.ts'
import { CATEGORIES } from '../categories/stored.ts'
import { fault } from '../http/validation/errors.ts'
import { integer, text } from '../http/validation/fields.ts'
import { stricter } from '../http/validation/stricter.ts'
import { ProductCreate } from '../products/schema.ts'
import { PRODUCTS } from '../products/stored.ts'
import { ReviewCreate } from '../reviews/schema.ts'
import { REVIEWS } from '../reviews/stored.ts'
import { UserCreate } from '../users/schema.ts'
import { USERS } from '../users/stored.ts'
import type { NewRow } from './load.ts'
import type { StoredRows } from './table.ts'

/** Leaves room for later ids, which must stay below 2^53. */
const GIVEN_ID_MAX = 2 ** 52

const given = { id: integer().min(1).max(GIVEN_ID_MAX).optional() }

/** Not `default(null)`: the default would be described, and then types that are generated demand the field. */
const placed = {
  category_id: integer()
    .nullable()
    .optional()
    .transform(value => value ?? null),
}

/** The hashes that `Bun.password.verify` supports. */
const PASSWORD_HASH = /^\$(argon2(id|i|d)\$|2[aby]\$)/

/** The API's `UserCreate` with a hash instead of the password, or with the mask for a user without one. */
const UserLine = z
  .object({
    ...UserCreate.shape,
    ...given,
    password: text().optional(),
    password_hash: passwordHash().optional(),
  })
  .refine(({ password, password_hash }) => password !== undefined || password_hash !== undefined, {
    // Without an input, the issue says that the field is required. It is told even if other fields are wrong.
    ...fault.value('no password'),
    path: ['password'],
    when: ({ value }) => value instanceof Object,
  })
  // It must not lack both. Of `anyOf` with what each alternative requires, generators of clients make `any`.
  .openapi('UserLine', stricter({ not: { properties: { password: false, password_hash: false } } }))

function passwordHash() {
  // With the type once more, because generators of clients make `any`, or no type at all, of a part without one.
  return text(undefined, { allOf: [{ type: 'string', pattern: PASSWORD_HASH.source }] }).superRefine(
    (value, context) => {
      if (!PASSWORD_HASH.test(value)) context.addIssue(fault.value('not a hash of argon2 or bcrypt'))
    },
  )
}

/** How the lines of a file become rows. */
export interface BulkResource {
  readonly stored: StoredRows
  /** Validates a line like a request body, and describes it. */
  readonly line: z.ZodObject & z.ZodType<NewRow>
}

export const CATEGORY_LINES: BulkResource = {
  stored: CATEGORIES,
  line: z.object({ ...CategoryCreate.shape, ...given }).openapi('CategoryLine'),
}
export const PRODUCT_LINES: BulkResource = {
  stored: PRODUCTS,
  line: z.object({ ...ProductCreate.shape, ...given, ...placed }).openapi('ProductLine'),
}
export const USER_LINES: BulkResource = { stored: USERS, line: UserLine }
export const REVIEW_LINES: BulkResource = {
  stored: REVIEWS,
  line: z.object({ ...ReviewCreate.shape, ...given }).openapi('ReviewLine'),
}

/** Each one comes after those that it references. */
export const BULK_RESOURCES: readonly BulkResource[] = [CATEGORY_LINES, PRODUCT_LINES, USER_LINES, REVIEW_LINES]
