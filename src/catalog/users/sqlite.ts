import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import type { EmbeddedReview } from '../embedded/schema.ts'
import { deleting, type Embedding, embedding, finding, REVIEWS_OF_USER } from '../embedded/sqlite.ts'
import { allRows, chunkOf, sqliteListing } from '../lists/sqlite.ts'
import { Remembered } from '../remembered.ts'
import type { UserRepository } from './repository.ts'
import { type Flags, PASSWORD_MASK, type User } from './schema.ts'

interface UserRow extends Flags {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly avatar: string
}

/** All but the password's hash, which never leaves the database. */
const COLUMNS = `
  id, name, email, avatar, is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended, is_verified`

const USER: Embedding<UserRow, EmbeddedReview, EmbeddedReview, User> = {
  array: REVIEWS_OF_USER,
  columns: COLUMNS,
  ownerOf: review => review.user_id,
  weight: review => review.comment.length,
  itemOf: review => review,
  resourceOf: userOf,
}

type FlagValues<Value> = [
  active: Value,
  admin: Value,
  banned: Value,
  blocked: Value,
  deleted: Value,
  suspended: Value,
  verified: Value,
]

export function sqliteUsers(database: SqliteDatabase): UserRepository {
  const remembered = new Remembered(database)
  const selectId = database.prepare<[id: number], { id: number }>('SELECT id FROM users WHERE id = ?')
  const find = finding(database, USER)
  const selectRange = database.prepare<[afterId: number, untilId: number, limit: number], UserRow>(
    `SELECT ${COLUMNS} FROM users WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  )
  const rows = allRows(database, 'users')
  const withReviews = embedding(database, USER)
  const insert = database.prepare<
    [name: string, email: string, avatar: string, passwordHash: string, ...FlagValues<number>]
  >(`
    INSERT INTO users (name, email, avatar, password_hash,
      is_active, is_admin, is_banned, is_blocked, is_deleted, is_suspended, is_verified)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const change = database.prepare<
    [name: string, email: string, avatar: string, passwordHash: string | null, ...FlagValues<number | null>, id: number]
  >(`
    UPDATE users SET name = ?, email = ?, avatar = ?,
      password_hash = coalesce(?, password_hash),
      is_active = coalesce(?, is_active),
      is_admin = coalesce(?, is_admin),
      is_banned = coalesce(?, is_banned),
      is_blocked = coalesce(?, is_blocked),
      is_deleted = coalesce(?, is_deleted),
      is_suspended = coalesce(?, is_suspended),
      is_verified = coalesce(?, is_verified)
    WHERE id = ?`)

  return {
    all: () =>
      sqliteListing(database, remembered, {
        ...rows,
        chunk: (afterId, untilId, limit) =>
          withReviews(chunkOf(selectRange.iterate(afterId, untilId, limit + 1), limit, row => row.avatar.length)),
      }),
    exists: async id => database.snapshot(() => selectId.get(id) !== null),
    find: async id =>
      database.recallOr(
        () => remembered.get(id),
        () => remembered.keep(id, find(id)),
      ),
    create: user =>
      database.write(() => {
        const { lastInsertRowid } = insert.run(
          user.name,
          user.email,
          user.avatar,
          user.passwordHash,
          user.is_active,
          user.is_admin,
          user.is_banned,
          user.is_blocked,
          user.is_deleted,
          user.is_suspended,
          user.is_verified,
        )
        return userOf({ ...user, id: Number(lastInsertRowid) }, [])
      }),
    update: (id, user) =>
      database.write(() => {
        change.run(
          user.name,
          user.email,
          user.avatar,
          user.passwordHash,
          user.is_active ?? null,
          user.is_admin ?? null,
          user.is_banned ?? null,
          user.is_blocked ?? null,
          user.is_deleted ?? null,
          user.is_suspended ?? null,
          user.is_verified ?? null,
          id,
        )
        return find(id)
      }),
    delete: deleting(database, USER),
  }
}

function userOf(row: UserRow, reviews: EmbeddedReview[]): User {
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
