import { Database } from 'bun:sqlite'
import { accessMigrations } from '../../../src/access/migrations/index.ts'
import { catalogMigrations } from '../../../src/catalog/migrations/index.ts'
import { chatMigrations } from '../../../src/chat/migrations/index.ts'
import { openDatabase } from '../../../src/database/open.ts'
import { database as databaseSetting } from '../../../src/database/settings.ts'
import { talkMigrations } from '../../../src/talk/migrations/index.ts'
import { type Client, client } from '../client.ts'
import { QUICK_HASHES } from '../contract.ts'
import { type Engine, sqlite } from '../engines.ts'
import { sample } from '../samples.ts'
import { startService } from '../service.ts'

const FLAGS = ['--access-log', 'off']

const TABLES = ['categories', 'products', 'users', 'reviews'] as const

const MILLISECONDS = Date.UTC(2026, 0, 31, 23, 59, 59, 7)
export const PASSWORD = 'a secret of mine'

/** An empty database with its tables. */
export async function migrated(engine: Engine): Promise<AsyncDisposable & { readonly url: string }> {
  const database = await engine.freshDatabase()
  await makeTables(database.url)
  return database
}

/** How many rows the tables of the catalog have, read past any service. */
export async function sizesIn(engine: Engine, url: string): Promise<number[]> {
  const counts = TABLES.map(table => `(SELECT count(*) FROM ${table}) AS ${table}`)
  const [row] = await engine.read<Record<string, unknown>>(url, `SELECT ${counts.join(', ')}`)
  return TABLES.map(table => Number(row?.[table]))
}

/** Creates the tables of all parts, because each command creates only those of its own part. */
async function makeTables(url: string): Promise<void> {
  const settings = { address: databaseSetting.parse(url) }
  await using database = await openDatabase(settings, [
    catalogMigrations,
    chatMigrations,
    talkMigrations,
    accessMigrations,
  ])
  await database.ready
}

/** An SQLite database with everything that a copy could get wrong; its service has ended. */
export async function oddShop(): Promise<AsyncDisposable & { readonly url: string }> {
  const database = await sqlite.freshDatabase()
  {
    await using service = await startService(database.url, { flags: FLAGS, environment: QUICK_HASHES })
    await fill(client(() => service.address))
  }
  await makeTables(database.url)
  fillTheOthers(database.url)
  return database
}

const ODD_TEXTS = [
  '\\N is \\. no "null", \\t no tab, and this is \\\\ one\\',
  '\ufefftab \t, line feed \n, return \r, both \r\n, \b \f \v \u001b[0m, and a blank at the end ',
  'ﬀ ß İ \r 名前 👩‍👩‍👧‍👦 e\u0301 \u202eright to left\u202c \uffff \u{10ffff}',
  `${"'; DROP TABLE reviews; --".repeat(2)}\u2028\u2029\u0085\u00a0`,
]
const ODD_PRICES = [
  5e-324,
  2.2250738585072014e-308,
  1.7976931348623157e308,
  0.1,
  0.30000000000000004,
  1e23,
  9007199254740992,
  1e15,
  1e21,
  123456789012345680,
  4.35,
  1e-5,
  9.5367431640625e-7,
  2 ** -1022,
  2 ** 60,
  1 / 3,
  8.41e21,
  9.409340012568248e18,
  5e-7,
]
const LONG_COMMENT = 'Digs well. \\\t\n'.repeat(60_000)

async function fill(api: Client): Promise<void> {
  const categories: number[] = []
  for (const text of ODD_TEXTS) {
    categories.push(
      await api.create('/categories/', { name: [...text].slice(0, 40).join(''), description: text.slice(0, 50) }),
    )
  }
  const products: number[] = []
  for (const [place, price] of ODD_PRICES.entries()) {
    const text = ODD_TEXTS[place % ODD_TEXTS.length] ?? ''
    const product = { name: [...text].slice(0, 30).join(''), description: text, price }
    products.push(await api.create(place % 2 === 0 ? '/products/' : `/products/${categories[0]}/products`, product))
  }
  const flags = {
    is_active: 2 ** 53 - 1,
    is_admin: -(2 ** 53 - 1),
    is_banned: 0,
    is_blocked: -1,
    is_deleted: 2 ** 31,
    is_suspended: -(2 ** 31) - 1,
    is_verified: 7,
  }
  const users = [
    await api.create('/users/', { ...sample.user, ...flags, name: '名前 \\N\t', avatar: '\\' }),
    await api.create('/users/', { ...sample.user, password: '' }),
    await api.create('/users/', { ...sample.user, password: 'ﬀ\n\\' }),
  ]
  await api.create('/reviews/', { ...sample.review(products[1] ?? 0, users[0] ?? 0), comment: LONG_COMMENT })
  await api.create('/reviews/', { ...sample.review(products[2] ?? 0, users[0] ?? 0), comment: ODD_TEXTS[1] })
  await api.create('/reviews/', { ...sample.review(products[2] ?? 0, users[1] ?? 0), comment: ODD_TEXTS[2] })
  // Gaps, and the highest ids of all.
  await api.create('/reviews/', sample.review(products[2] ?? 0, users[2] ?? 0))
  await api.delete(`/products/${products.at(-1)}`)
  await api.delete(`/products/${products[5]}`)
  await api.delete(`/users/${users[2]}`)
}

/** Inserts rows directly, because a client cannot choose their times or the texts of answers. */
function fillTheOthers(url: string): void {
  using database = new Database(url.slice('sqlite:'.length), { strict: true })
  const insert = (table: string, row: Record<string, string | number | null>) =>
    database.run(
      `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row)
        .map(() => '?')
        .join(', ')})`,
      Object.values(row),
    )
  const states = ['finished', 'stopped', 'unheard', 'interrupted', 'failed']
  for (const [place, state] of states.entries()) {
    const req_id = ['zebra', 'Äpfel', 'äpfel', 'Zebra', '👍 \\N'][place] ?? ''
    const time = MILLISECONDS + place * 1_001
    insert('prompts', { req_id, text: ODD_TEXTS[place % 4] ?? '', created_at: time })
    const failure = state === 'failed' ? 'The model\nis gone.' : null
    insert('answers', {
      ...{ req_id, state, failure, text: ODD_TEXTS[(place + 1) % 4] ?? '', stop_asked: place % 2 },
      ...{ alive_at: time + 1, heard_at: time + 2 },
    })
  }
  insert('prompts', { req_id: 'never answered', text: 'Why?', created_at: 1 })
  for (const [place, username] of ['zoe', 'ada', 'Ada', 'Öland', 'ﬀ\\'].entries()) {
    insert('accounts', { username, password_sha256: String(place).repeat(64), created_at: MILLISECONDS + place })
    insert('rooms', { name: username })
    const prompt = { room: username, sender: username, text: ODD_TEXTS[place % 4] ?? '', sent_at: MILLISECONDS }
    const { lastInsertRowid } = insert('messages', prompt)
    const answer = { room: username, sender: 'ai', text: '', sent_at: MILLISECONDS + 999 }
    insert('messages', { ...answer, answer_to: Number(lastInsertRowid), stopped: place % 2 })
  }
  database.run('DELETE FROM messages WHERE id = 10')
  for (const [place, name] of ['till', 'Shop.window-1', 'shop_window'].entries()) {
    const scope = ['read', 'write', 'admin'][place] ?? ''
    insert('access_keys', { name, scope, sha256: String(place).repeat(64), created_at: MILLISECONDS + place })
  }
}
