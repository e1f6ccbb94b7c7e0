import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { openSqlite } from '../../database/sqlite/open.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { repositoriesOf } from '../repositories.ts'
import { wholeList } from './query.ts'

test('a list whose items are deleted while its end is looked for is read from there on, not from its beginning', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'stockroom.db'), [catalogMigrations])
  const { categories } = repositoriesOf(database, { cacheBytes: 0, idempotencyBytes: 1 })
  for (const name of ['one', 'two', 'three']) await categories.create({ name, description: '' })
  const afterAll = { ...wholeList<{ name: string; description: string }>(), from: { after: [3], skip: 0 } }
  const { last, more } = await categories.end({ ...afterAll, limit: 2 })
  expect({ last, more }).toEqual({ last: [3], more: false })
  expect(await categories.scan({ ...afterAll, from: { after: last, skip: 0 }, until: last })).toEqual({
    items: [],
    last: null,
  })
})
