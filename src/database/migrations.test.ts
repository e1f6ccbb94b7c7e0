import { expect, test } from 'bun:test'
import { withEachEngine } from '../../test/harness/contract.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run } from '../../test/harness/service.ts'

withEachEngine('a database from before the first release', engine => {
  test('is refused by each command and stays as it was', async () => {
    await using database = await engine.freshDatabase()
    expect(await run(['seed', '--database', database.url, '--products', '3'])).toMatchObject({ status: 0 })
    {
      await using sql = connected(database.url)
      await sql`DELETE FROM migrations WHERE name <> 'catalog_0001'`
      await sql`UPDATE migrations SET name = '0001_catalog'`
    }
    const refused = { status: 1, reason: /before the first release/ } as const
    for (const command of [
      ['serve', '--port', '0'],
      ['export', '--resource', 'users'],
      ['chat', '--port', '0'],
    ]) {
      expectRefusal(await run([...command, '--database', database.url]), refused, command[0])
    }
    expect(await engine.read(database.url, 'SELECT id FROM products')).toHaveLength(3)
    expect(await engine.read<{ name: string }>(database.url, 'SELECT name FROM migrations')).toEqual([
      { name: '0001_catalog' },
    ])
  })
})
