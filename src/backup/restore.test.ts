import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { client } from '../../test/harness/client.ts'
import { damage } from '../../test/harness/damage.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startServer, startService } from '../../test/harness/service.ts'
import { type Shop, startShop } from '../../test/harness/shop.ts'
import { APPLICATION_ID } from '../database/sqlite/connection.ts'

setDefaultTimeout(120_000)

const CAN_TRACE = Bun.which('strace') !== null

const FLAGS = ['--access-log', 'off']

const BEFORE_BACKUP = 3
const AFTER_BACKUP = 2

test('restore puts a backup in place of a database whose service was killed, and keeps the old one with what was in its log', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop('SIGKILL')
  expect(statSync(`${shop.file}-wal`).size).toBeGreaterThan(0)
  const { status, output, errors } = await shop.restore()
  expect({ status, errors }).toEqual({ status: 0, errors: '' })
  expect(output).toContain(shop.kept())
  expect(productsIn(shop.kept())).toBe(BEFORE_BACKUP + AFTER_BACKUP)
  expect(shop.files()).toEqual(['backup.db', 'shop.db', 'shop.db-synced', basename(shop.kept())])
  await using again = await startService(shop.url, { flags: FLAGS })
  const api = client(() => again.address)
  expect((await api.get('/products/')).body).toHaveLength(BEFORE_BACKUP)
  const made = await api.create('/products/', sample.product)
  expect((await api.get(`/products/${made}`)).body).toEqual({ id: made, ...sample.product, reviews: [] })
})

test.skipIf(!CAN_TRACE)(
  'restore has the new database on the disk before others can open it, and then removes nothing beside it',
  async () => {
    await using shop = await startBackedUp()
    await shop.service.stop()
    const file = join(shop.folder, 'calls')
    const traced = 'trace=unlink,unlinkat,rename,renameat,renameat2,fsync'
    const through = ['strace', '-D', '-f', '-qq', '-y', '-o', file, '-e', traced]
    expect(await run(['restore', '--database', shop.url, shop.backup], { through })).toMatchObject({ status: 0 })
    const calls = readFileSync(file, 'utf8').split('\n')
    const placed = calls.findLastIndex(call => call.includes('rename') && call.includes('shop.db"'))
    expect(placed).toBeGreaterThan(0)
    // A service that started without the file would make a new one.
    expect(calls.filter(call => /rename.*shop\.db",/.test(call))).toEqual([])
    // For example the journal of a service that has begun to use it.
    expect(calls.slice(placed + 1).filter(call => /shop\.db(-\w+)?"/.test(call))).toEqual([])
    expect(calls.slice(0, placed).some(call => /fsync\(.*\.partial>/.test(call))).toBe(true)
    expect(calls.slice(placed).find(call => call.includes('fsync('))).toContain(`${basename(shop.folder)}>`)
  },
)

test('restore refuses while a service has the database open, names it where the system tells, and changes nothing', async () => {
  await using shop = await startBackedUp()
  const refused = await shop.restore()
  expectRefusal(refused, { status: 1, reason: /shop\.db is in use by (another )?process.*stop everything/ })
  if (process.platform === 'linux') expect(refused.errors).toContain(`process ${shop.service.processId} (`)
  expect((await shop.api.get('/products/')).body).toHaveLength(BEFORE_BACKUP + AFTER_BACKUP)
  expect((await shop.api.get('/readyz')).status).toBe(200)
  expect(shop.files()).toEqual(['backup.db', 'shop.db', 'shop.db-shm', 'shop.db-synced', 'shop.db-wal'])
})

test('restore refuses while a forgotten chat or another program has the database open', async () => {
  await using shop = await startBackedUp()
  await using chat = await startServer(['chat', '--host', '127.0.0.1', '--port', '0', '--database', shop.url])
  await shop.service.stop()
  expectRefusal(await shop.restore(), { status: 1, reason: /shop\.db is in use/ })
  await chat.stop()
  {
    using other = new Database(shop.file)
    other.run('SELECT * FROM products')
    expectRefusal(await shop.restore(), { status: 1, reason: /shop\.db is in use/ })
  }
  expect(await shop.restore()).toMatchObject({ status: 0 })
  expect(productsIn(shop.file)).toBe(BEFORE_BACKUP)
})

test('restore refuses while a process has a file open over which a backup was copied', async () => {
  await using shop = await startBackedUp()
  for (const companion of ['-wal', '-shm']) rmSync(shop.file + companion)
  copyFileSync(shop.backup, shop.file)
  expectRefusal(await shop.restore(), { status: 1, reason: /shop\.db is in use/ })
  await shop.service.stop()
  expect(await shop.restore()).toMatchObject({ status: 0 })
  expect(productsIn(shop.file)).toBe(BEFORE_BACKUP)
})

test('restore refuses what is no sound backup, and changes nothing', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop()
  const before = readFileSync(shop.file)
  const backup = readFileSync(shop.backup)
  const refusals = async (reason: RegExp) => {
    expectRefusal(await shop.restore(), { status: 1, reason })
    expect(readFileSync(shop.file).equals(before), String(reason)).toBe(true)
    expect(shop.files().filter(name => name.startsWith('shop.db'))).toEqual(['shop.db'])
    for (const name of shop.files().filter(other => other !== 'shop.db'))
      rmSync(join(shop.folder, name), { recursive: true })
    writeFileSync(shop.backup, backup)
  }
  damage(shop.backup, 'products')
  await refusals(/backup\.db is damaged/)
  writeFileSync(shop.backup, 'Buy milk.\n'.repeat(1_000))
  await refusals(/backup\.db is not a database/)
  writeFileSync(shop.backup, '')
  await refusals(/backup\.db is no database of stockroom/)
  rmSync(shop.backup)
  {
    using other = new Database(shop.backup)
    other.run("PRAGMA encoding = 'UTF-16'")
    other.run(`PRAGMA application_id = ${APPLICATION_ID}`)
    other.run('CREATE TABLE migrations (name)')
  }
  await refusals(/backup\.db is not encoded in UTF-8/)
  rmSync(shop.backup)
  await refusals(/backup\.db/)
  rmSync(shop.backup)
  mkdirSync(shop.backup)
  await refusals(/^stockroom: .*backup\.db is not a file$/m)
  {
    using newer = new Database(shop.backup)
    newer.run("INSERT INTO migrations (name, applied_at) VALUES ('catalog_0999_orders', '2999-01-01T00:00:00.000Z')")
  }
  await refusals(/backup\.db was written by a newer version.*catalog_0999_orders/)
  {
    using newer = new Database(shop.backup)
    newer.run("INSERT INTO migrations (name, applied_at) VALUES ('talk_0999_rooms', '2999-01-01T00:00:00.000Z')")
  }
  await refusals(/backup\.db was written by a newer version.*talk_0999_rooms/)
  {
    await using inUse = await startService(`sqlite:${shop.backup}`, { flags: FLAGS })
    await client(() => inUse.address).create('/products/', sample.product)
    await inUse.stop('SIGKILL')
  }
  await refusals(/backup\.db has a log beside it/)
  const elsewhere = join(shop.folder, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'used.db'), backup)
  writeFileSync(join(elsewhere, 'used.db-wal'), 'what the file lacks')
  rmSync(shop.backup)
  symlinkSync(join(elsewhere, 'used.db'), shop.backup)
  await refusals(/backup\.db has a log beside it/)
})

test('restore replaces a damaged database, and keeps it', async () => {
  await using shop = await startBackedUp()
  for (const companion of ['-wal', '-shm']) rmSync(shop.file + companion)
  writeFileSync(shop.file, 'Buy milk.\n'.repeat(1_000))
  // Others have no list of locks.
  if (process.platform === 'linux') expectRefusal(await shop.restore(), { status: 1, reason: /shop\.db is in use/ })
  await shop.service.stop('SIGKILL')
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect(readFileSync(shop.kept(), 'utf8')).toStartWith('Buy milk.\n')
  expect(productsIn(shop.file)).toBe(BEFORE_BACKUP)
  // SQLite can lock this one, but finds no table in it.
  rmSync(shop.kept())
  const header = readFileSync(shop.backup).subarray(0, 100)
  writeFileSync(shop.file, Buffer.concat([header, Buffer.alloc(statSync(shop.backup).size - 100, 0xff)]))
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect(readFileSync(shop.kept()).at(100)).toBe(0xff)
  expect(productsIn(shop.file)).toBe(BEFORE_BACKUP)
})

test('restore makes a missing database that only its owner can read, whatever log lies there', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop('SIGKILL')
  rmSync(shop.file)
  writeFileSync(`${shop.file}-journal`, 'of the lost file')
  chmodSync(shop.backup, 0o644)
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect((statSync(shop.file).mode & 0o777).toString(8)).toBe('600')
  expect(shop.files().some(name => /^shop\.db\.replaced-.*-wal$/.test(name))).toBe(true)
  expect(shop.files().some(name => /^shop\.db\.replaced-.*-journal$/.test(name))).toBe(true)
  expect(productsIn(shop.file)).toBe(BEFORE_BACKUP)
  writeFileSync(shop.file, '')
  writeFileSync(`${shop.file}-wal`, 'of an emptied file')
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect(readFileSync(`${shop.kept()}-wal`, 'utf8')).toBe('of an emptied file')
})

test('restore makes the folder of a missing database, and takes a backup with an empty log beside it', async () => {
  await using shop = await startBackedUp()
  writeFileSync(`${shop.backup}-wal`, '')
  const file = join(shop.folder, 'new', 'place', 'shop.db')
  const ran = await run(['restore', '--database', `sqlite:${file}`, shop.backup])
  expect(ran).toEqual({ status: 0, output: `${file} is now the database of ${shop.backup}\n`, errors: '' })
  expect(productsIn(file)).toBe(BEFORE_BACKUP)
})

test.skipIf(process.getuid?.() !== 0)(
  'restore by root makes a missing database for the owner of its folder, and leaves the owner of another as it was',
  async () => {
    await using shop = await startBackedUp()
    await shop.service.stop()
    rmSync(shop.file)
    const ownerOfFile = () => [statSync(shop.file).uid, statSync(shop.file).gid]
    chownSync(shop.folder, 65_532, 65_531)
    expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
    expect(ownerOfFile()).toEqual([65_532, 65_531])
    chownSync(shop.file, 65_530, 65_529)
    expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
    expect(ownerOfFile()).toEqual([65_530, 65_529])
  },
)

test('restore leaves the mode of the database as it was, and a link to it', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop()
  chmodSync(shop.file, 0o640)
  const linked = join(shop.folder, 'linked.db')
  renameSync(shop.file, linked)
  symlinkSync(linked, shop.file)
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect((statSync(linked).mode & 0o777).toString(8)).toBe('640')
  expect(lstatSync(shop.file).isSymbolicLink()).toBe(true)
  expect(productsIn(linked)).toBe(BEFORE_BACKUP)
})

test('restore takes a backup that nobody may write to, and says in one line if there is no place for it', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop()
  chmodSync(shop.backup, 0o400)
  expect(await shop.restore()).toMatchObject({ status: 0, errors: '' })
  expect(shop.files().filter(name => name.includes('partial'))).toEqual([])
  const nowhere = `sqlite:${join(shop.backup, 'folder', 'shop.db')}`
  const refused = await run(['restore', '--database', nowhere, shop.backup])
  expectRefusal(refused, { status: 1, reason: /cannot open the database .*backup\.db\/folder\/shop\.db/ })
})

test('restore does not put a file in place of a link that leads nowhere', async () => {
  await using shop = await startBackedUp()
  await shop.service.stop()
  rmSync(shop.file)
  symlinkSync(join(shop.folder, 'lost.db'), shop.file)
  expectRefusal(await shop.restore(), { status: 1, reason: /shop\.db is a link that leads to no file/ })
  expect(lstatSync(shop.file).isSymbolicLink()).toBe(true)
  expect(shop.files()).toEqual(['backup.db', 'shop.db'])
})

test('restore says what to use for PostgreSQL', async () => {
  const refused = await run(['restore', '--database', 'postgres://shop@127.0.0.1:1/shop', 'backup.db'])
  expectRefusal(refused, { status: 2, reason: /pg_restore/ })
})

interface BackedUp extends Shop {
  readonly backup: string
  readonly restore: () => ReturnType<typeof run>
  /** The path of the database that was replaced. */
  readonly kept: () => string
  /** The names of all files, in order. */
  readonly files: () => string[]
}

/** The database has `AFTER_BACKUP` products more than the backup. */
async function startBackedUp(): Promise<BackedUp> {
  const shop = await startShop({ flags: FLAGS })
  const { api, folder, url } = shop
  const backup = join(folder, 'backup.db')
  for (let made = 0; made < BEFORE_BACKUP; made += 1) await api.create('/products/', sample.product)
  expect(await run(['backup', '--database', url, backup])).toMatchObject({ status: 0 })
  for (let made = 0; made < AFTER_BACKUP; made += 1) await api.create('/products/', sample.product)
  const files = () => readdirSync(folder).sort()
  return {
    ...shop,
    backup,
    restore: () => run(['restore', '--database', url, backup]),
    kept: () => join(folder, files().find(name => /^shop\.db\.replaced-[^-]+-[^-]+-[^-]+$/.test(name)) ?? 'none'),
    files,
  }
}

function productsIn(file: string): number | undefined {
  using database = new Database(file)
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  return database.query<{ count: number }, []>('SELECT count(*) AS count FROM products').get()?.count
}
