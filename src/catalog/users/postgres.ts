import type { PostgresDatabase } from '../../database/postgres/database.ts'
import { creating } from '../creates/postgres.ts'
import { embeddingReads } from '../embedded/postgres.ts'
import { type Embedding, type EmbeddingRow, REVIEWS } from '../embedded/postgres-rows.ts'
import { changed, deleting } from '../embedded/postgres-writes.ts'
import type { EmbeddedReview } from '../embedded/schema.ts'
import { allOf, postgresListing } from '../lists/postgres.ts'
import type { NewUser, UserRepository } from './repository.ts'
import { type Flags, PASSWORD_MASK, type User } from './schema.ts'

interface Row extends EmbeddingRow, Flags {
  readonly name: string
  readonly email: string
  readonly avatar: string
  readonly item_id: number
  readonly user_id: number
  readonly product_id: number
  readonly rating: number
  readonly comment: string
}

/** All but the password's hash, which never leaves the database. */
const USER: Embedding<Row, EmbeddedReview, User> = {
  owners: 'users',
  row: `
    owner.id::float8 AS id, owner.name, owner.email, owner.avatar,
    owner.is_active::float8, owner.is_admin::float8, owner.is_banned::float8, owner.is_blocked::float8,
    owner.is_deleted::float8, owner.is_suspended::float8, owner.is_verified::float8`,
  long: 'avatar',
  array: { ...REVIEWS, key: 'user_id' },
  itemOf: ({ item_id: id, product_id, user_id, rating, comment }) => ({ id, product_id, user_id, rating, comment }),
  resourceOf: userOf,
}

const UPDATE = `
  UPDATE users SET name = $2::text, email = $3::text, avatar = $4::text,
    password_hash = coalesce($5::text, password_hash),
    is_active = coalesce($6::bigint, is_active),
    is_admin = coalesce($7::bigint, is_admin),
    is_banned = coalesce($8::bigint, is_banned),
    is_blocked = coalesce($9::bigint, is_blocked),
    is_deleted = coalesce($10::bigint, is_deleted),
    is_suspended = coalesce($11::bigint, is_suspended),
    is_verified = coalesce($12::bigint, is_verified)
  WHERE id = $1::bigint`

export function postgresUsers(database: PostgresDatabase): UserRepository {
  const { find, ...reads } = embeddingReads(database, USER)
  const insert = creating<Omit<NewUser, 'passwordHash'> & { readonly password_hash: string }>(database, 'users')

  return {
    all: () => postgresListing(database, reads, allOf('users')),
    exists: async id => (await database.read('SELECT id FROM users WHERE id = $1::bigint', id)).length > 0,
    find,
    create: async ({ passwordHash, ...user }) =>
      userOf({ ...user, id: await insert({ ...user, password_hash: passwordHash }) }, []),
    update: (id, user) => {
      const { name, email, avatar, passwordHash } = user
      return changed(
        database,
        USER,
        UPDATE,
        ...[id, name, email, avatar, passwordHash],
        ...[user.is_active, user.is_admin, user.is_banned, user.is_blocked].map(flag => flag ?? null),
        ...[user.is_deleted, user.is_suspended, user.is_verified].map(flag => flag ?? null),
      )
    },
    delete: deleting(database, USER),
  }
}

function userOf(
  row: Omit<Row, keyof EmbeddingRow | keyof EmbeddedReview> & { readonly id: number },
  reviews: EmbeddedReview[],
): User {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    avatar: row.avatar,
    password: PASSWORD_MASK,
    is_active: row.is_active,
    is_admin: row.is_admin,
    is_banned: row.is_banned,
    is_blocked: row.is_blocked,
    is_deleted: row.is_deleted,
    is_suspended: row.is_suspended,
    is_verified: row.is_verified,
    reviews,
  }
}
