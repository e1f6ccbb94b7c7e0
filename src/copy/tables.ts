/**
 * What a value is, and how it is written in a line:
 *
 * - `integer`, `flag`: in decimal digits; a flag is 0 or 1
 * - `number`: a double, as JavaScript writes it, which is exact
 * - `text`: as it is
 * - `time`: in UTC to the millisecond, as ISO 8601 has it
 */
export type Kind = 'integer' | 'flag' | 'number' | 'text' | 'time'

/** What is moved of a table, in the words that both engines share. */
export interface Table {
  readonly name: string
  /** What its rows are told apart by, and ordered by when they are compared; texts by their bytes in UTF-8. */
  readonly key: string
  readonly columns: Readonly<Record<string, Kind>>
}

/** Each behind those that it refers to. A table whose key is an integer gives its ids itself, none of them twice. */
export const TABLES: readonly Table[] = [
  { name: 'categories', key: 'id', columns: { id: 'integer', name: 'text', description: 'text' } },
  {
    name: 'products',
    key: 'id',
    columns: { id: 'integer', category_id: 'integer', name: 'text', price: 'number', description: 'text' },
  },
  {
    name: 'users',
    key: 'id',
    columns: {
      id: 'integer',
      name: 'text',
      email: 'text',
      password_hash: 'text',
      is_active: 'integer',
      is_admin: 'integer',
      is_banned: 'integer',
      is_blocked: 'integer',
      is_deleted: 'integer',
      is_suspended: 'integer',
      is_verified: 'integer',
      avatar: 'text',
    },
  },
  {
    name: 'reviews',
    key: 'id',
    columns: { id: 'integer', product_id: 'integer', user_id: 'integer', rating: 'integer', comment: 'text' },
  },
  { name: 'prompts', key: 'id', columns: { id: 'integer', req_id: 'text', text: 'text', created_at: 'time' } },
  {
    name: 'answers',
    key: 'req_id',
    columns: {
      req_id: 'text',
      state: 'text',
      text: 'text',
      failure: 'text',
      stop_asked: 'flag',
      alive_at: 'time',
      heard_at: 'time',
    },
  },
  { name: 'accounts', key: 'username', columns: { username: 'text', password_sha256: 'text', created_at: 'time' } },
  { name: 'rooms', key: 'name', columns: { name: 'text' } },
  {
    name: 'messages',
    key: 'id',
    columns: {
      id: 'integer',
      room: 'text',
      sender: 'text',
      text: 'text',
      sent_at: 'time',
      answer_to: 'integer',
      stopped: 'flag',
    },
  },
]

export function isNumbered({ key, columns }: Table): boolean {
  return columns[key] === 'integer'
}
