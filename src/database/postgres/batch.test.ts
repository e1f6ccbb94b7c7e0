import { expect, setDefaultTimeout, test } from 'bun:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createDatabase } from '../../../test/harness/postgres/database.ts'
import { openedDatabase } from '../../../test/harness/postgres/opened.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'

setDefaultTimeout(120_000)

// Each choice of fields that clients make has some, and only a few choices are kept.
test('a batch that nobody uses any more is freed', async () => {
  await using empty = await createDatabase(await sharedServerUrl())
  await using database = await openedDatabase(empty.url)
  const unused = Array.from({ length: 100 }, () => new WeakRef(database.batch<number, number>(async inputs => inputs)))
  await turn()
  Bun.gc(true)
  // The collector may take what it finds on the stack for a reference.
  expect(unused.filter(batch => batch.deref()).length).toBeLessThan(unused.length / 2)
})
