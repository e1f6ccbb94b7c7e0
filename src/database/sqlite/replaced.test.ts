import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { client } from '../../../test/harness/client.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startServer, startService } from '../../../test/harness/service.ts'
import { type Shop, startShop } from '../../../test/harness/shop.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { allPromises } from '../../../test/harness/turns.ts'
import { openSqlite } from './open.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

const BEFORE_BACKUP = 40
const AFTER_BACKUP = 40

test('a backup that is copied over a file which a forgotten chat has open stays sound when the chat stops', async () => {
  await using shop = await startReplaced()
  await using chat = await startServer(['chat', '--host', '127.0.0.1', '--port', '0', '--database', shop.url])
  await shop.create(AFTER_BACKUP)
  await shop.service.stop('SIGKILL')
  shop.copyBackup()
  await chat.stop()
  expectSound(shop.file, BEFORE_BACKUP)
})

test('a forgotten service that stops leaves a file alone that its successor has in use', async () => {
  await using shop = await startReplaced()
  shop.useLogInBackup()
  await using forgotten = await startService(shop.url, { flags: FLAGS })
  await shop.create(AFTER_BACKUP)
  await shop.service.stop('SIGKILL')
  shop.copyBackup()
  await using again = await startService(shop.url, { flags: FLAGS })
  await client(() => again.address).create('/products/', sample.product)
  await forgotten.stop()
  await client(() => again.address).create('/products/', sample.product)
  expect(await again.stop()).toBe(0)
  expectSound(shop.file, BEFORE_BACKUP + 2)
})

test('a service over whose file a backup is copied serves nothing more, and one line says what to do', async () => {
  await using shop = await startReplaced()
  await shop.create(AFTER_BACKUP)
  shop.copyBackup()
  await expectOutOfUse(shop)
  expectSound(shop.file, BEFORE_BACKUP)
})

test.skipIf(process.platform !== 'linux')(
  'workers over whose file a backup is copied leave it alone when they stop, and the service ends with a failure',
  async () => {
    await using shop = await startReplaced([...FLAGS, '--workers', '2'])
    await shop.create(AFTER_BACKUP)
    shop.copyBackup()
    expect(await shop.service.stop()).toBe(1)
    expect(shop.service.errors().trimEnd().split('\n').at(-1)).toBe(
      'stockroom: no worker has ended in order; the log says why',
    )
    expectSound(shop.file, BEFORE_BACKUP)
  },
)

test('a service whose file is replaced by a moved one leaves the log of its successor alone', async () => {
  await using shop = await startReplaced()
  await shop.create(AFTER_BACKUP)
  shop.removeCompanions('-wal', '-shm')
  copyFileSync(shop.backup, `${shop.file}.new`)
  renameSync(`${shop.file}.new`, shop.file)
  await using successor = await startService(shop.url, { flags: FLAGS })
  await client(() => successor.address).create('/products/', sample.product)
  await expectOutOfUse(shop)
  await client(() => successor.address).create('/products/', sample.product)
  await successor.stop('SIGKILL')
  expectSound(shop.file, BEFORE_BACKUP + 2)
})

test('once the log and the shared file are removed, no write is acknowledged that others do not see', async () => {
  await using shop = await startReplaced()
  shop.moveLog()
  shop.removeCompanions('-wal', '-shm')
  await expectOutOfUse(shop)
  expectSound(shop.file, BEFORE_BACKUP)
})

test('once both are removed long after the start, no write is acknowledged either', async () => {
  await using shop = await startReplaced()
  shop.moveLog()
  await Bun.sleep(3_500)
  await shop.create(1)
  shop.moveLog()
  shop.removeCompanions('-wal', '-shm')
  await expectOutOfUse(shop)
  expectSound(shop.file, BEFORE_BACKUP + 1)
})

test('a directory that is moved away with the database takes no more writes', async () => {
  await using shop = await startReplaced()
  await Bun.sleep(3_500)
  await shop.create(1)
  const moved = `${shop.folder}-moved`
  renameSync(shop.folder, moved)
  try {
    expect(await shop.api.post('/products/', sample.product)).toMatchObject({ status: 503 })
    expectSound(join(moved, basename(shop.file)), BEFORE_BACKUP + 1)
  } finally {
    renameSync(moved, shop.folder)
  }
})

test('once the log alone is removed, no write is acknowledged that others do not see', async () => {
  await using shop = await startReplaced()
  shop.moveLog()
  shop.removeCompanions('-wal')
  await expectOutOfUse(shop)
  expectSound(shop.file, BEFORE_BACKUP)
})

test('once the shared file alone is removed, what another program writes is not lost', async () => {
  await using shop = await startReplaced()
  await shop.create(AFTER_BACKUP)
  shop.removeCompanions('-shm')
  using other = new Database(shop.file)
  other.run("INSERT INTO products (name, description, price) VALUES ('Of another program', '', 1)")
  await expectOutOfUse(shop)
  other.close()
  expectSound(shop.file, BEFORE_BACKUP + AFTER_BACKUP + 1)
})

test('a database that was closed refuses further work, and is not taken for a replaced one', async () => {
  using folder = temporaryFolder()
  const database = await openSqlite(join(folder.path, 'shop.db'), [])
  await database[Symbol.asyncDispose]()
  await expect(database.bulkRead(async () => {})).rejects.toThrow('the database is closed')
  await expect(database.bulk('writing', async () => {})).rejects.toThrow('the database is closed')
  expect(() => database.scans.snapshot(() => {})).toThrow('the database is closed')
  for (const read of [database.snapshot, database.durable, database.look, database.current]) {
    expect(() => read.call(database, () => {})).toThrow('the database is closed')
  }
  await expect(database.probe()).rejects.toThrow('the database is closed')
})

test('reads go on while a database that is closed waits for a statement, and then are refused', async () => {
  using folder = temporaryFolder()
  const database = await openSqlite(join(folder.path, 'shop.db'), [])
  const count =
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT count(*) FROM n'
  database.beside.all(count, []).catch(() => {})
  await allPromises()
  const { scans } = database
  const closed = database[Symbol.asyncDispose]().then(() => 'closed')
  const read = () => [database.snapshot(() => 'read'), scans.snapshot(() => 'read')]
  for (let turns = 0; ; turns += 1) {
    const error = await turn().then(read).catch(String)
    if (typeof error !== 'string') continue
    expect(error).toContain('the database is closed')
    expect(turns).toBeGreaterThan(0)
    break
  }
  expect(await closed).toBe('closed')
})

interface ReplacedShop extends Shop {
  /** Has `BEFORE_BACKUP` products. */
  readonly backup: string
  readonly create: (products: number) => Promise<void>
  /** Restores the backup in the way that destroys a file in use. */
  readonly copyBackup: () => void
  /** So that a service can start on it while another process still has the replaced file open. */
  readonly useLogInBackup: () => void
  readonly removeCompanions: (...endings: ('-wal' | '-shm')[]) => void
  /** Moves the write-ahead log into the file. */
  readonly moveLog: () => void
}

async function startReplaced(flags = FLAGS): Promise<ReplacedShop> {
  const shop = await startShop({ flags })
  const { api, file, folder, url } = shop
  const backup = join(folder, 'backup.db')
  const create = async (products: number) => {
    await Promise.all(Array.from({ length: products }, () => api.create('/products/', sample.product)))
  }
  const removeCompanions = (...endings: ('-wal' | '-shm')[]) => {
    for (const ending of endings) rmSync(file + ending)
  }
  await create(BEFORE_BACKUP)
  expect(await run(['backup', '--database', url, backup])).toMatchObject({ status: 0 })
  return {
    ...shop,
    backup,
    create,
    removeCompanions,
    copyBackup: () => {
      removeCompanions('-wal', '-shm')
      copyFileSync(backup, file)
    },
    useLogInBackup: () => {
      using copy = new Database(backup)
      copy.run('PRAGMA journal_mode = WAL')
    },
    moveLog: () => {
      using other = new Database(file)
      other.run('PRAGMA wal_checkpoint(TRUNCATE)')
    },
  }
}

/** The service acknowledges no write, soon reads nothing, says so once, and stops. */
async function expectOutOfUse({ service, api }: Shop): Promise<void> {
  const replaced = { status: 503, body: { detail: 'The database was replaced' } }
  const write = await api.post('/products/', sample.product)
  expect(write).toMatchObject(replaced)
  expect(write.headers.get('Retry-After')).toBe(null)
  expect(await api.put('/products/1', sample.product)).toMatchObject(replaced)
  expect(await api.delete('/products/1')).toMatchObject(replaced)
  expect(await api.get('/readyz')).toMatchObject(replaced)
  expect(await api.get('/products/1')).toMatchObject(replaced)
  expect(await api.get('/products/?limit=1000')).toMatchObject(replaced)
  expect(await api.get('/products/?sort=price')).toMatchObject(replaced)
  expect(await api.get('/facets/products')).toMatchObject(replaced)
  expect(await api.get('/healthz')).toMatchObject({ status: 200 })
  await service.stop()
  const told = service
    .errors()
    .split('\n')
    .filter(line => line.includes('replaced'))
  expect(told).toHaveLength(1)
  expect(told[0]).toMatch(/shop\.db was replaced.*stockroom restore/)
}

function expectSound(file: string, products: number): void {
  using database = new Database(file)
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  expect(database.query('SELECT count(*) AS count FROM products').get()).toEqual({ count: products })
}
