import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../../../../test/harness/temporary-folder.ts'
import { countTurns } from '../../../../test/harness/turns.ts'
import { openSqlite } from '../../../database/sqlite/open.ts'
import { Streaming } from '../../../server/streaming.ts'
import { catalogMigrations } from '../../migrations/index.ts'
import { repositoriesOf } from '../../repositories.ts'
import { searchOf } from '../../search/search.ts'
import { withChosen } from './chosen.ts'

/** More than an item may take before its request makes way for others. */
const ITEM_MS = 6

test('requests whose words are looked for in many items have a turn of the event loop of their own each', async () => {
  using folder = temporaryFolder()
  await using database = await openSqlite(join(folder.path, 'stockroom.db'), [catalogMigrations])
  const { products } = repositoriesOf(database, { cacheBytes: 0, idempotencyBytes: 1 })
  const streaming = new Streaming(1)
  using turns = countTurns()
  const readIn: { readonly request: number; readonly turn: number }[] = []
  const answer = async (request: number) => {
    const item = {
      ...{ cut: null, revision: 1 },
      get json() {
        readIn.push({ request, turn: turns.count() })
        Bun.sleepSync(ITEM_MS)
        return '{"name":"Spade","description":"Steel"}'
      },
    }
    const { show } = withChosen(products, { fields: ['name', 'highlights'] }, streaming, searchOf('spade'))
    return show?.([item, item, item])
  }
  await Promise.all([1, 2, 3].map(answer))
  // A request begins in the turn in which its items were found.
  const later = readIn.filter(({ turn }) => turn > 0)
  expect(later.length).toBeGreaterThan(0)
  for (const { request, turn } of later) {
    expect(later.filter(other => other.turn === turn && other.request !== request)).toEqual([])
  }
})
