import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { damage } from '../../../test/harness/damage.ts'
import { CAN_MOUNT, inItsOwnMounts } from '../../../test/harness/mounts.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { run, startServer, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

test('a database below a file instead of a folder is reported with its path, by each command', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.txt'), 'Buy milk.\n')
  await expectUnusable(join(folder.path, 'notes.txt/shop.db'), /notes\.txt\/shop\.db/)
  expect(readFileSync(join(folder.path, 'notes.txt'), 'utf8')).toBe('Buy milk.\n')
})

test('a database in a file system that accepts no files is reported with its path, by each command', async () => {
  await expectUnusable('/proc/shop.db', /\/proc\/shop\.db/)
})

test('a command in a wrong folder tells where it looked for the database', async () => {
  using folder = temporaryFolder()
  const path = join(realpathSync(folder.path), 'data/stockroom.db')
  for (const argv of [
    ['backup', 'copy.db'],
    ['export', 'all'],
    ['key', 'list'],
    ['key', 'revoke', 'shop'],
    ['copy', 'sqlite:data/stockroom.db', 'sqlite:copy.db'],
  ]) {
    const reason = new RegExp(`there is no database ${path}; name the one that your service uses`)
    expectRefusal(await run(argv, { folder: folder.path }), { status: 1, reason }, argv.join(' '))
  }
  expect(readdirSync(folder.path)).toEqual([])
  const refused = await run(['serve', '--port', '0'], { folder: '/proc' })
  expectRefusal(refused, { status: 1, reason: /cannot open the database \/proc\/data\/stockroom\.db/ })
})

test('a folder in place of the database is reported with its path, by each command', async () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'shop.db'))
  await expectUnusable(join(folder.path, 'shop.db'), /shop\.db/)
})

test('a new database is made in the folder data, and the service names it', async () => {
  using folder = temporaryFolder()
  const surroundings = { folder: folder.path }
  const made = join(realpathSync(folder.path), 'data/stockroom.db')
  const line = `; the database ${made} is new\n`
  for (const command of ['serve', 'chat']) {
    const argv = [command, '--host', '127.0.0.1', '--port', '0']
    {
      await using service = await startServer(argv, surroundings)
      await service.stop()
      expect(service.output()).toContain(line)
    }
    await using again = await startServer(argv, surroundings)
    await again.stop()
    expect(again.output()).not.toContain(line)
    expect(existsSync(made)).toBe(true)
    rmSync(made)
  }
})

test.skipIf(process.getuid?.() !== 0)(
  'a new database that a command of root makes belongs to the owner of its folder, as a service that runs there needs it',
  async () => {
    using folder = temporaryFolder()
    chownSync(folder.path, 65_532, 65_531)
    const file = join(folder.path, 'shop.db')
    const made = await run(
      ['import', '--database', `sqlite:${file}`, '--resource', 'categories', '--format', 'ndjson', '-'],
      { input: '' },
    )
    expect(made).toMatchObject({ status: 0 })
    const { uid, gid, mode } = statSync(file)
    expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 65_532, gid: 65_531, mode: 0o600 })
  },
)

test('a link into a missing folder is reported with its path, by each command', async () => {
  using folder = temporaryFolder()
  symlinkSync(join(folder.path, 'gone/shop.db'), join(folder.path, 'link.db'))
  await expectUnusable(join(folder.path, 'link.db'), /link\.db/)
})

test('a file that is not a database is reported and stays as it was', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const content of ['Buy milk.\n', 'Buy milk.\n'.repeat(1_000), `SQLite format 3\0${'\xff'.repeat(5_000)}`]) {
    writeFileSync(file, content, 'latin1')
    await expectUnusable(file, /shop\.db/)
    expect(readFileSync(file, 'latin1') === content, `changed: ${content.slice(0, 20)}`).toBe(true)
    expect(readdirSync(folder.path), content.slice(0, 20)).toEqual(['shop.db'])
  }
})

test('a database that is not encoded in UTF-8 is refused, because it orders texts in another way', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  {
    using other = new Database(file)
    other.run("PRAGMA encoding = 'UTF-16'")
    other.run('CREATE TABLE emptied (id)')
    other.run('DROP TABLE emptied')
  }
  await expectUnusable(file, /shop\.db is not encoded in UTF-8/)
})

test('a database whose first page is cut off is reported', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  writeFileSync(file, readFileSync(file).subarray(0, 2_000))
  await expectUnusable(file, /shop\.db/)
})

test('a service whose search index is damaged does not start, and says so without a stack', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await (await startService(`sqlite:${file}`)).stop()
  damage(file, 'product_words_config')
  const { status, errors } = await run(['serve', '--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`])
  const told = /^stockroom: the database is damaged: .*product_words; .* restore the latest backup$/m
  expect([status, errors]).toEqual([1, expect.stringMatching(told)])
  expect(errors).not.toContain('.ts:')
})

test("another program's database is reported and stays as it was", async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  {
    using other = new Database(file)
    other.run('CREATE TABLE products (sku TEXT)')
    other.run("INSERT INTO products VALUES ('K-1')")
  }
  const before = readFileSync(file)
  await expectUnusable(file, /another program/)
  using other = new Database(file, { readonly: true })
  expect(other.query('SELECT * FROM products').all()).toEqual([{ sku: 'K-1' }])
  expect(other.query('SELECT name FROM sqlite_schema').all()).toEqual([{ name: 'products' }])
  expect(readFileSync(file).equals(before), 'the file has changed').toBe(true)
})

test("another program's database with migrations of its own is reported and stays as it was", async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  {
    using other = new Database(file)
    other.run('CREATE TABLE migrations (version INTEGER)')
    other.run('INSERT INTO migrations VALUES (7)')
  }
  const before = readFileSync(file)
  await expectUnusable(file, /shop\.db/)
  expect(readFileSync(file).equals(before), 'the file has changed').toBe(true)
})

test("a database that a newer version migrated is reported with the migration's name and stays as it was", async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  {
    using newer = new Database(file)
    newer.run("INSERT INTO migrations (name, applied_at) VALUES ('catalog_0999_orders', '2999-01-01T00:00:00.000Z')")
    newer.run('PRAGMA journal_mode = DELETE')
    newer.run('PRAGMA journal_mode = WAL')
  }
  const before = readFileSync(file)
  const reason = /newer version.*catalog_0999_orders/
  const database = ['--database', `sqlite:${file}`]
  expectRefusal(await run(['serve', '--host', '127.0.0.1', '--port', '0', ...database]), { status: 1, reason }, 'serve')
  expectRefusal(await run(['seed', ...database]), { status: 1, reason }, 'seed')
  expect(readFileSync(file).equals(before), 'the file has changed').toBe(true)
  // Its content does not matter for a copy.
  expect(await run(['backup', ...database, join(folder.path, 'copy.db')])).toMatchObject({ status: 0 })
})

test('tables of a part that this program does not have are left alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  {
    using other = new Database(file)
    other.run('CREATE TABLE orders (id INTEGER PRIMARY KEY)')
    other.run("INSERT INTO migrations (name, applied_at) VALUES ('orders_0999', '2999-01-01T00:00:00.000Z')")
  }
  await using service = await startService(`sqlite:${file}`)
  expect((await fetch(`${service.address}/products/1`)).status).toBe(200)
  using other = new Database(file)
  expect(other.query('SELECT count(*) AS count FROM orders').get()).toEqual({ count: 0 })
})

test.skipIf(!CAN_MOUNT && process.getuid?.() === 0)(
  'a database in a folder without write permission is reported with its path',
  async () => {
    using folder = temporaryFolder()
    using elsewhere = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    const backup = join(elsewhere.path, 'backup.db')
    await seeded(`sqlite:${file}`)
    expect(await run(['backup', '--database', `sqlite:${file}`, backup])).toMatchObject({ status: 0 })
    // A folder's mode does not stop root.
    const through = CAN_MOUNT
      ? inItsOwnMounts(`mount --bind '${folder.path}' '${folder.path}'`, readOnly(folder.path))
      : []
    if (!CAN_MOUNT) chmodSync(folder.path, 0o500)
    try {
      for (const path of [file, join(folder.path, 'new.db'), join(folder.path, 'new folder/shop.db')]) {
        const refused = await run(['serve', '--port', '0', '--database', `sqlite:${path}`], { through })
        expectRefusal(refused, { status: 1, reason: new RegExp(path) }, path)
      }
      const restored = await run(['restore', '--database', `sqlite:${file}`, backup], { through })
      expectRefusal(restored, { status: 1, reason: /shop\.db: the folder .+ is not writable/ })
      expect(readdirSync(folder.path)).toEqual(['shop.db'])
    } finally {
      chmodSync(folder.path, 0o700)
    }
  },
)

test.skipIf(!CAN_MOUNT)('a database whose companion files cannot be made is reported with its folder', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  const locked = join(folder.path, 'locked')
  mkdirSync(locked)
  writeFileSync(join(locked, 'shop.db'), '')
  // The file can be written to, and its folder cannot.
  const through = inItsOwnMounts(`mount --bind '${locked}' '${locked}'`, [
    ...readOnly(locked),
    `mount --bind '${file}' '${locked}/shop.db'`,
  ])
  const link = join(folder.path, 'link.db')
  symlinkSync(join(locked, 'shop.db'), link)
  for (const path of [join(locked, 'shop.db'), link]) {
    const refused = await run(['serve', '--port', '0', '--database', `sqlite:${path}`], { through })
    expectRefusal(refused, { status: 1, reason: new RegExp(`${path}: the folder .+/locked is not writable`) })
  }
})

test.skipIf(!CAN_MOUNT)(
  'a database beside a log or its index that cannot be written to is refused, and the file is named',
  async () => {
    using folder = temporaryFolder()
    const file = join(realpathSync(folder.path), 'shop.db')
    await seeded(`sqlite:${file}`)
    for (const ending of ['-wal', '-shm']) {
      const beside = file + ending
      writeFileSync(beside, '')
      // A file's mode does not stop root.
      const through = inItsOwnMounts(`mount --bind '${beside}' '${beside}'`, readOnly(beside))
      const refused = await run(['serve', '--port', '0', '--database', `sqlite:${file}`], { through })
      const reason = new RegExp(`: ${beside} is not writable; give it the owner and the mode of the database`)
      expectRefusal(refused, { status: 1, reason }, ending)
      rmSync(beside)
    }
  },
)

/** Each command that opens a database says why it cannot. */
async function expectUnusable(path: string, reason: RegExp): Promise<void> {
  using folder = temporaryFolder()
  const database = ['--database', `sqlite:${path}`]
  const serve = await run(['serve', '--host', '127.0.0.1', '--port', '0', ...database])
  expectRefusal(serve, { status: 1, reason }, 'serve')
  expectRefusal(await run(['seed', ...database]), { status: 1, reason }, 'seed')
  expectRefusal(await run(['backup', ...database, join(folder.path, 'copy.db')]), { status: 1, reason }, 'backup')
  expect(readdirSync(folder.path), 'the backup is there').toEqual([])
}

async function seeded(database: string): Promise<void> {
  const { status, errors } = await run(['seed', '--database', database, '--products', '10', '--reviews', '20'])
  if (status !== 0) throw new Error(errors)
}

function readOnly(folder: string): string[] {
  return [`mount -o remount,bind,ro '${folder}'`]
}
