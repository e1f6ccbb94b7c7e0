import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(60_000)

/** Whether a process may have mounts of its own, as root may, and many a user in a namespace. */
const CAN_MOUNT =
  Bun.which('unshare') !== null && spawnSync([...inItsOwnMounts('mount -t tmpfs none /tmp'), 'true']).exitCode === 0

/** Whether a limit on the size of files can be set, and lifted while the process runs. */
const CAN_LIMIT = Bun.which('prlimit') !== null

/** More than an empty database and its log take. */
const SMALL_DISK_KIB = 1_024

const BIG_PRODUCT = { ...sample.product, description: 'x'.repeat(50_000) }

test('a port in use is told with its number, and the database stays as it was', async () => {
  using folder = temporaryFolder()
  using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await seeded(database)
  const refused = await run(['serve', '--host', '127.0.0.1', '--port', String(taken.port), '--database', database])
  expectRefusal(refused, { status: 1, reason: new RegExp(`127\\.0\\.0\\.1:${taken.port} is in use.*--port`) })
  await using service = await startService(database)
  expect((await client(() => service.address).get('/products/3')).status).toBe(200)
})

test('a second service on the port of the first is told so, and the first goes on', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await using service = await startService(database)
  const { port } = new URL(service.address)
  const refused = await run(['serve', '--host', '127.0.0.1', '--port', port, '--database', database])
  expectRefusal(refused, { status: 1, reason: /in use/ })
  expect(await client(() => service.address).create('/products/', sample.product)).toBe(1)
})

test('an address that is not of this machine is told', async () => {
  using folder = temporaryFolder()
  const flags = ['--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  const elsewhere = await run(['serve', '--host', '203.0.113.7', ...flags])
  expectRefusal(elsewhere, { status: 1, reason: /cannot listen on 203\.0\.113\.7:0/ })
})

test('a database under a file instead of a folder is told with its path, by each command', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.txt'), 'Buy milk.\n')
  await expectUnusable(join(folder.path, 'notes.txt/shop.db'), /notes\.txt\/shop\.db/)
  expect(readFileSync(join(folder.path, 'notes.txt'), 'utf8')).toBe('Buy milk.\n')
})

test('a database in a file system that takes no files is told with its path, by each command', async () => {
  await expectUnusable('/proc/shop.db', /\/proc\/shop\.db/)
})

test('a folder in the place of the database is told with its path, by each command', async () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'shop.db'))
  await expectUnusable(join(folder.path, 'shop.db'), /shop\.db/)
})

test('a link into a folder that is not there is told with its path, by each command', async () => {
  using folder = temporaryFolder()
  symlinkSync(join(folder.path, 'gone/shop.db'), join(folder.path, 'link.db'))
  await expectUnusable(join(folder.path, 'link.db'), /link\.db/)
})

test('a file that is no database is told, and stays as it was', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  for (const content of ['Buy milk.\n', 'Buy milk.\n'.repeat(1_000), `SQLite format 3\0${'\xff'.repeat(5_000)}`]) {
    writeFileSync(file, content, 'latin1')
    await expectUnusable(file, /shop\.db/)
    expect(readFileSync(file, 'latin1') === content, `changed: ${content.slice(0, 20)}`).toBe(true)
    expect(readdirSync(folder.path), content.slice(0, 20)).toEqual(['shop.db'])
  }
})

test('a database whose first page is cut off is told', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  writeFileSync(file, readFileSync(file).subarray(0, 2_000))
  await expectUnusable(file, /shop\.db/)
})

test('a database of another program is told, and stays as it was', async () => {
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

test('a database of another program that has migrations of its own is told, and stays as it was', async () => {
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

test('a database that a newer version has migrated is told by the name of its migration, and stays as it was', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  {
    using newer = new Database(file)
    newer.run("INSERT INTO migrations (name, applied_at) VALUES ('0999_catalog_orders', '2999-01-01T00:00:00.000Z')")
    newer.run('PRAGMA journal_mode = DELETE')
    newer.run('PRAGMA journal_mode = WAL')
  }
  const before = readFileSync(file)
  await expectUnusable(file, /newer version.*0999_catalog_orders/)
  expect(readFileSync(file).equals(before), 'the file has changed').toBe(true)
})

test('tables of a part that this program does not have are left alone', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await seeded(`sqlite:${file}`)
  {
    using other = new Database(file)
    other.run('CREATE TABLE orders (id INTEGER PRIMARY KEY)')
    other.run("INSERT INTO migrations (name, applied_at) VALUES ('0999_orders', '2999-01-01T00:00:00.000Z')")
  }
  await using service = await startService(`sqlite:${file}`)
  expect((await fetch(`${service.address}/products/1`)).status).toBe(200)
  using other = new Database(file)
  expect(other.query('SELECT count(*) AS count FROM orders').get()).toEqual({ count: 0 })
})

test.skipIf(!CAN_MOUNT && process.getuid?.() === 0)(
  'a database in a folder that cannot be written to is told with its path',
  async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    await seeded(`sqlite:${file}`)
    // For root, the mode of a folder is no obstacle.
    const through = CAN_MOUNT
      ? inItsOwnMounts(`mount --bind '${folder.path}' '${folder.path}'`, readOnly(folder.path))
      : []
    if (!CAN_MOUNT) chmodSync(folder.path, 0o500)
    try {
      for (const path of [file, join(folder.path, 'new.db'), join(folder.path, 'new folder/shop.db')]) {
        const refused = await run(['serve', '--port', '0', '--database', `sqlite:${path}`], { through })
        expectRefusal(refused, { status: 1, reason: new RegExp(path) }, path)
      }
      expect(readdirSync(folder.path)).toEqual(['shop.db'])
    } finally {
      chmodSync(folder.path, 0o700)
    }
  },
)

test.skipIf(!CAN_LIMIT)(
  'with no room for the file to grow a write is answered 503, nothing is lost, reads go on, and writes do when there is room',
  async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const stored: number[] = []
    {
      await using service = await startService(database, {
        flags: ['--access-log', 'off'],
        // The signal would end a process that exceeds the limit; without it, the write fails as on a full disk.
        through: ['bash', '-c', `trap '' XFSZ; ulimit -S -f ${SMALL_DISK_KIB}; exec "$@"`, 'bash'],
      })
      const api = client(() => service.address)
      stored.push(...(await fillUp(api)))
      await expectReadableAndFull(api, stored)
      expect(spawnSync(['prlimit', '--fsize=unlimited:', '--pid', String(service.processId)]).exitCode).toBe(0)
      stored.push(await api.create('/products/', BIG_PRODUCT), await api.create('/products/', BIG_PRODUCT))
      expect(await idsOf(api)).toEqual(stored)
      expect(await service.stop()).toBe(0)
    }
    await using again = await startService(database)
    expect(await idsOf(client(() => again.address))).toEqual(stored)
  },
)

test.skipIf(!CAN_MOUNT)(
  'on a full disk a write is answered 503, nothing is lost, reads go on, and writes do when there is room',
  async () => {
    using folder = temporaryFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    await using service = await startService(`sqlite:${join(disk, 'shop.db')}`, {
      flags: ['--access-log', 'off'],
      through: onSmallDisk(disk),
    })
    const api = client(() => service.address)
    expect((await api.get('/readyz')).status).toBe(200)
    const stored = await fillUp(api)
    await expectReadableAndFull(api, stored)
    expectUnavailable(await api.get('/readyz'))
    // The disk as the service sees it.
    const seen = `/proc/${service.processId}/root${disk}`
    expect(existsSync(`${seen}/shop.db`)).toBe(true)
    await Bun.file(`${seen}/ballast`).delete()
    await until(async () => (await api.get('/readyz')).status === 200)
    stored.push(await api.create('/products/', BIG_PRODUCT))
    expect(await idsOf(api)).toEqual(stored)
  },
)

test.skipIf(!CAN_MOUNT)('a service whose disk is full stops with status 0, and without a stack', async () => {
  using folder = temporaryFolder()
  const disk = join(folder.path, 'disk')
  mkdirSync(disk)
  await using service = await startService(`sqlite:${join(disk, 'shop.db')}`, {
    flags: ['--access-log', 'off'],
    through: onSmallDisk(disk),
  })
  await fillUp(client(() => service.address))
  expect(await service.stop()).toBe(0)
  for (const line of service.errors().trimEnd().split('\n')) expect(line).toStartWith('{')
})

test.skipIf(!CAN_LIMIT)('writes at once on a full disk are each told, and what was acknowledged is there', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const stored: number[] = []
  {
    await using service = await startService(database, {
      flags: ['--access-log', 'off'],
      through: ['bash', '-c', `trap '' XFSZ; ulimit -S -f ${SMALL_DISK_KIB}; exec "$@"`, 'bash'],
    })
    const api = client(() => service.address)
    for (let round = 0; round < 5; round += 1) {
      const answers = await Promise.all(Array.from({ length: 16 }, () => api.post('/products/', BIG_PRODUCT)))
      for (const answer of answers) {
        if (answer.status === 200) stored.push(idOf(answer))
        else expectUnavailable(answer)
      }
    }
    expect((await idsOf(api)).sort(ascending)).toEqual(stored.sort(ascending))
    await service.stop('SIGKILL')
  }
  await using again = await startService(database)
  expect((await idsOf(client(() => again.address))).sort(ascending)).toEqual(stored)
})

test('what is written while the database is moved away is answered 503, and writes go on when it is back', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shop.db')
  await using service = await startService(`sqlite:${path}`, { flags: ['--access-log', 'off'] })
  const api = client(() => service.address)
  const before = await api.create('/products/', sample.product)
  renameSync(path, `${path}.away`)
  expectUnavailable(await api.post('/products/', sample.product))
  writeFileSync(path, '')
  expectUnavailable(await api.post('/products/', sample.product))
  renameSync(`${path}.away`, path)
  const after = await api.create('/products/', sample.product)
  expect(await idsOf(api)).toEqual([before, after])
})

test('seeding a disk that is too small is told in one line, and leaves the catalog empty', async () => {
  using folder = temporaryFolder()
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  const through = ['bash', '-c', `trap '' XFSZ; ulimit -f ${SMALL_DISK_KIB}; exec "$@"`, 'bash']
  const tooMuch = await run(['seed', '--database', database, '--products', '20000'], { through })
  expect(tooMuch.status).toBe(1)
  expect(tooMuch.output).toBe('')
  expect(tooMuch.errors.trimEnd().split('\n').at(-1)).toMatch(/^stockroom: .*\b(full|database|I\/O)\b/)
  expect(tooMuch.errors).not.toMatch(/^ +at /m)
  await using service = await startService(database)
  const api = client(() => service.address)
  for (const path of ['/categories/', '/products/', '/users/', '/reviews/']) {
    expect((await api.get(path)).body, path).toEqual([])
  }
})

/** Each command that opens a database tells why it cannot. */
async function expectUnusable(path: string, reason: RegExp): Promise<void> {
  using folder = temporaryFolder()
  const database = ['--database', `sqlite:${path}`]
  const serve = await run(['serve', '--host', '127.0.0.1', '--port', '0', ...database])
  expectRefusal(serve, { status: 1, reason }, 'serve')
  expectRefusal(await run(['seed', ...database]), { status: 1, reason }, 'seed')
  expectRefusal(await run(['backup', ...database, join(folder.path, 'copy.db')]), { status: 1, reason }, 'backup')
  expect(readdirSync(folder.path), 'the backup is there').toEqual([])
}

/** Creates products until there is no room for more; answers the ids of those that were taken. */
async function fillUp(api: Client): Promise<number[]> {
  const taken: number[] = []
  for (;;) {
    const answer = await api.post('/products/', BIG_PRODUCT)
    if (answer.status !== 200) {
      expectUnavailable(answer)
      expect(taken.length, 'products before the disk was full').toBeGreaterThan(3)
      return taken
    }
    taken.push(idOf(answer))
  }
}

async function expectReadableAndFull(api: Client, stored: readonly number[]): Promise<void> {
  const [first = 0] = stored
  expect(await idsOf(api)).toEqual([...stored])
  expect((await api.get(`/products/${first}`)).body).toEqual({ id: first, ...BIG_PRODUCT, reviews: [] })
  expectUnavailable(await api.post('/products/', BIG_PRODUCT))
  expectUnavailable(await api.put(`/products/${first}`, { ...BIG_PRODUCT, description: 'y'.repeat(500_000) }))
  expect((await api.get(`/products/${first}`)).body).toEqual({ id: first, ...BIG_PRODUCT, reviews: [] })
  expect((await api.get('/products/0')).status).toBe(404)
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 503, body: { detail: expect.stringMatching(/database/) } })
  expect(headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
}

async function seeded(database: string): Promise<void> {
  const { status, errors } = await run(['seed', '--database', database, '--products', '10', '--reviews', '20'])
  if (status !== 0) throw new Error(errors)
}

async function idsOf(api: Client): Promise<number[]> {
  const { body } = await api.get('/products/?limit=100000')
  if (!Array.isArray(body)) throw new Error(JSON.stringify(body))
  return body.map(({ id }) => Number(id))
}

function idOf({ body }: Answer): number {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'number') return body.id
  throw new Error(`no id in ${JSON.stringify(body)}`)
}

function ascending(a: number, b: number): number {
  return a - b
}

function readOnly(folder: string): string[] {
  return [`mount -o remount,bind,ro '${folder}'`]
}

function onSmallDisk(disk: string): string[] {
  return inItsOwnMounts(`mount -t tmpfs -o size=${SMALL_DISK_KIB * 2}k none '${disk}'`, [
    `dd if=/dev/zero of='${disk}/ballast' bs=1024 count=512 2>/dev/null`,
  ])
}

/** A program that runs another one with mounts that only it sees, and that end with it. */
function inItsOwnMounts(mount: string, then: readonly string[] = []): string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', '--mount', ...asRoot, 'bash', '-c', [mount, ...then, 'exec "$@"'].join(' && '), 'bash']
}
