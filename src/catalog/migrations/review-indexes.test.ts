import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { client } from '../../../test/harness/client.ts'
import { sqlite } from '../../../test/harness/engines.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { openSqlite } from '../../database/sqlite/open.ts'
import { catalogMigrations } from './index.ts'

test('a file with the narrow indexes of reviews shows the same reviews when they are wide', async () => {
  await using database = await sqlite.freshDatabase()
  const path = database.url.slice('sqlite:'.length)
  const narrow = catalogMigrations.sqlite.filter(({ name }) => name < '0014')
  await (await openSqlite(path, [{ ...catalogMigrations, sqlite: narrow }]))[Symbol.asyncDispose]()
  const comments = ['short', 'x'.repeat(300), 'y'.repeat(301), 'z'.repeat(100_000)]
  {
    using file = new Database(path)
    file.run("INSERT INTO products (name, price, description) VALUES ('Spade', 9.5, 'For the garden')")
    file.run(`INSERT INTO users (name, email, avatar, password_hash, is_active, is_admin, is_banned, is_blocked, is_deleted,
      is_suspended, is_verified) VALUES ('Ada', 'ada@mail.example', '', '-', 1, 0, 0, 0, 0, 0, 1)`)
    const insert = file.prepare('INSERT INTO reviews (product_id, user_id, rating, comment) VALUES (1, 1, 5, ?)')
    for (const comment of comments) insert.run(comment)
  }

  await using service = await startService(database.url)
  const api = client(() => service.address)
  await api.create('/reviews/', { ...sample.review(1, 1), comment: 'new' })
  const reviews = [...comments, 'new'].map(comment => ({ comment }))
  for (const one of ['/products/1', '/users/1']) expect((await api.get(one)).body, one).toMatchObject({ reviews })
  for (const list of ['/reviews/products/1', '/reviews/users/1', '/reviews/products/1/users/1']) {
    expect((await api.get(list)).body, list).toMatchObject(reviews)
  }
})
