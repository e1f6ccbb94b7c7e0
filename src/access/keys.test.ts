import { expect, setDefaultTimeout, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { withEachEngine } from '../../test/harness/contract.ts'
import { ENGINES, sqlite } from '../../test/harness/engines.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run } from '../../test/harness/service.ts'
import { storeKey, storeKeys } from '../../test/harness/stored-keys.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const NOTHING = { status: 0, output: '', errors: '' }

test('a key in a database that was not there yet is printed with the name of the file, which may be the wrong one', async () => {
  using folder = temporaryFolder()
  const create = ['key', 'create', 'shop', '--scope', 'read']
  const { output, errors } = await run(create, { folder: folder.path })
  expect(output).toMatch(/^stockroom_[A-Za-z0-9_-]{43}\n$/)
  expect(errors).toBe(`The database ${join(realpathSync(folder.path), 'data/stockroom.db')} is new\n`)
})

withEachEngine('access keys', engine => {
  test('a key is printed once, and the database has only its digest', async () => {
    await using database = await engine.freshDatabase()
    await run(key(database.url, 'create', 'till', '--scope', 'read'))
    const { status, output, errors } = await run(key(database.url, 'create', 'shop', '--scope', 'read'))
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    expect(output).toMatch(/^stockroom_[A-Za-z0-9_-]{43}\n$/)
    const stored = await engine.everything(database.url)
    expect(stored).toContain(createHash('sha256').update(output.trim()).digest('hex'))
    expect(stored).not.toContain(output.trim().slice('stockroom_'.length))
  })

  test('the list has the names and scopes of all keys, by name, and no secret; a name that is taken is refused', async () => {
    await using database = await engine.freshDatabase()
    await run(key(database.url, 'create', 'till-2', '--scope', 'write'))
    await run(key(database.url, 'create', 'owner', '--scope', 'admin'))
    await run(key(database.url, 'create', 'Shop.window_1', '--scope', 'read'))
    const list = await run(key(database.url, 'list'))
    const lines = list.output.trimEnd().split('\n')
    expect(list.status).toBe(0)
    expect(lines.map(line => line.split(/ +/).slice(0, 2))).toEqual([
      ['Shop.window_1', 'read'],
      ['owner', 'admin'],
      ['till-2', 'write'],
    ])
    const ages = lines.map(line => Date.now() - Date.parse(line.split(/ +/)[2] ?? ''))
    expect(ages.filter(age => age >= 0 && age < 120_000)).toHaveLength(3)
    const refused = await run(key(database.url, 'create', 'till-2', '--scope', 'admin'))
    expectRefusal(refused, { status: 1, reason: /a key till-2 already/ })
    expect(await run(key(database.url, 'list'))).toEqual(list)
  })

  test('a revoked key is gone from the list, its name is free again, and a key that is not there cannot be revoked', async () => {
    await using database = await engine.freshDatabase()
    const first = await storeKey(database.url, 'shop', 'read')
    expectRefusal(await run(key(database.url, 'revoke', 'Shop')), { status: 1, reason: /no key Shop/ })
    expect(await run(key(database.url, 'revoke', 'shop'))).toEqual({ ...NOTHING, output: 'revoked shop\n' })
    expect(await run(key(database.url, 'list'))).toEqual(NOTHING)
    const second = await run(key(database.url, 'create', 'shop', '--scope', 'read'))
    expect(second.status).toBe(0)
    expect(second.output.trim()).not.toBe(first)
  })

  test('there can be 1,000 keys, and no more', async () => {
    await using database = await engine.freshDatabase()
    const names = Array.from({ length: 1_000 }, (_, place) => `key-${place}`)
    await storeKeys(database.url, names, 'read')
    const refused = await run(key(database.url, 'create', 'one-more', '--scope', 'read'))
    expectRefusal(refused, { status: 1, reason: /1000 keys already/ })
    await run(key(database.url, 'revoke', 'key-7'))
    expect(await run(key(database.url, 'create', 'one-more', '--scope', 'read'))).toMatchObject({ status: 0 })
  })
})

test('keys are copied from each engine to each', async () => {
  for (const from of ENGINES) {
    await using source = await from.freshDatabase()
    await storeKey(source.url, 'shop', 'read')
    await storeKey(source.url, 'owner', 'admin')
    const list = await run(key(source.url, 'list'))
    for (const to of ENGINES) {
      await using target = await to.freshDatabase()
      const copied = await run(['copy', source.url, target.url])
      expect(copied.output).toEndWith(', 2 access_keys\n')
      expect(await run(key(target.url, 'list'))).toEqual(list)
      const digests = 'SELECT name, sha256 FROM access_keys ORDER BY name'
      expect(await to.read<unknown>(target.url, digests)).toEqual(await from.read<unknown>(source.url, digests))
    }
  }
})

test('a backup has the keys', async () => {
  await using database = await sqlite.freshDatabase()
  using folder = temporaryFolder()
  await storeKey(database.url, 'shop', 'read')
  const copy = join(folder.path, 'copy.db')
  expect(await run(['backup', '--database', database.url, copy])).toMatchObject({ status: 0 })
  expect(await run(key(`sqlite:${copy}`, 'list'))).toEqual(await run(key(database.url, 'list')))
})

test('a wrong command line is refused before anything is touched', async () => {
  using folder = temporaryFolder()
  const url = `sqlite:${join(folder.path, 'shop.db')}`
  for (const [words, reason] of [
    [[], /create NAME, list, or revoke NAME/],
    [['make', 'shop'], /create NAME, list, or revoke NAME/],
    [['list', 'shop'], /create NAME, list, or revoke NAME/],
    [['create'], /NAME/],
    [['create', 'a shop', '--scope', 'read'], /NAME/],
    [['create', 'x'.repeat(65), '--scope', 'read'], /NAME/],
    [['create', '.shop', '--scope', 'read'], /NAME/],
    [['create', 'shop"', '--scope', 'read'], /NAME/],
    [['create', 'shop'], /--scope read, write or admin/],
    [['create', 'shop', '--scope', 'all'], /read, write, admin/],
    [['create', 'shop', 'till', '--scope', 'read'], /unexpected argument/],
    [['revoke'], /NAME/],
    [['revoke', 'shop', '--scope', 'read'], /--scope/],
    [['list', '--scope', 'read'], /--scope/],
  ] as const) {
    expectRefusal(await run(key(url, ...words)), { status: 2, reason }, words.join(' '))
  }
  expect(readdirSync(folder.path)).toEqual([])
})

test('list and revoke need a database, and create makes one', async () => {
  using folder = temporaryFolder()
  const url = `sqlite:${join(folder.path, 'shop.db')}`
  expectRefusal(await run(key(url, 'list')), { status: 1, reason: /shop\.db/ })
  expectRefusal(await run(key(url, 'revoke', 'shop')), { status: 1, reason: /shop\.db/ })
  expect(readdirSync(folder.path)).toEqual([])
  expect(await run(key(url, 'create', 'shop', '--scope', 'read'))).toMatchObject({ status: 0 })
})

function key(database: string, ...words: string[]): string[] {
  return ['key', '--database', database, ...words]
}
