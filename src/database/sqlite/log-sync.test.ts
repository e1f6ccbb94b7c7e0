import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { EventFollower } from '../../../test/harness/catalog/follower.ts'
import { postKeyed } from '../../../test/harness/catalog/keyed.ts'
import { listOf } from '../../../test/harness/catalog/resources.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { damage } from '../../../test/harness/damage.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, type Service, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'
import { NDJSON_TYPE } from '../../catalog/http/validation/ndjson-type.ts'
import type { SqliteDatabase } from './database.ts'
import { openSqlite } from './open.ts'

setDefaultTimeout(120_000)

const CAN_TRACE = Bun.which('strace') !== null

const CREATES = 20

const FLAGS = ['--access-log', 'off']

/** The parts of a log. https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const PAGE_BYTES = 4_096

/** Runs the service with a disk that is slow or fails, as `strace` injects it into the system calls of syncs. */
function strace(file: string, injected: string | null, sync = 'fdatasync', write = 'pwrite64'): string[] {
  const traced = `${write},fsync,fdatasync,sendto,writev,sendmsg`
  const injection = injected === null ? [] : ['-e', `inject=${sync}:${injected}`]
  return ['strace', '-D', '-f', '-qq', '-y', '-s', '1000', '-o', file, '-e', `trace=${traced}`, ...injection]
}

test.skipIf(!CAN_TRACE)(
  'a write is acknowledged after a sync that began after its commit, on a fast disk and a slow one',
  async () => {
    for (const injected of [null, 'delay_exit=5000']) {
      using folder = temporaryFolder()
      const file = join(folder.path, 'calls')
      await using service = await startService(`sqlite:${join(folder.path, 'shop.db')}`, {
        flags: FLAGS,
        through: strace(file, injected),
      })
      const api = client(() => service.address)
      for (let count = 0; count < CREATES; count += 1) await api.create('/products/', sample.product)
      await service.stop()
      const calls = readFileSync(file, 'utf8')
      const { responses, tooEarly } = shown(calls, /HTTP/)
      expect(responses).toBe(CREATES)
      expect(tooEarly).toEqual([])
      // SQLite itself, which syncs with this call, would block all requests meanwhile.
      expect(calls.match(/ fsync\(.*-wal>/g)?.length ?? 0).toBeLessThan(CREATES / 2)
    }
  },
)

test.skipIf(!CAN_TRACE)(
  'while the disk syncs a write, cached resources are served, also beside a read that waits to show it until it is on the disk',
  async () => {
    await until(async () => {
      using folder = temporaryFolder()
      const file = join(folder.path, 'calls')
      await using service = await startService(`sqlite:${join(folder.path, 'shop.db')}`, {
        flags: [...FLAGS, '--slow-ms', '100'],
        through: strace(file, 'delay_enter=300000'),
      })
      const api = client(() => service.address)
      const product = await api.create('/products/', sample.product)
      // The first slow syncs block, and show that the disk is slow.
      for (let count = 0; count < 4; count += 1) await api.put(`/products/${product}`, sample.product)
      await api.get(`/products/${product}`)
      const order: string[] = []
      const noted = async <Answer>(name: string, request: Promise<Answer>) => {
        const answer = await request
        order.push(name)
        return answer
      }
      const created = noted('created', api.create('/products/', sample.product))
      // Its key is looked for in the database.
      const keyed = noted('keyed', postKeyed(api, { key: 'one', path: '/products/', body: sample.product }))
      const reads = []
      for (let count = 0; count < 5; count += 1) reads.push(await noted('cached', api.get(`/products/${product}`)))
      expect(reads.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
      expect((await listOf(api, '/products/')).length).toBeGreaterThanOrEqual(2)
      await created
      expect((await keyed).status).toBe(200)
      // If the machine pauses, the sync may be over before the reads are sent.
      if (order.slice(0, 5).some(name => name !== 'cached')) return false
      // The second is committed while the first is being synced, so that sync does not tell of it.
      const first = api.create('/products/', sample.product)
      for (let count = 0; count < 5; count += 1) await api.get(`/products/${product}`)
      const second = api.create('/products/', sample.product)
      for (let count = 0; count < 5; count += 1) await api.get(`/products/${product}`)
      const read = noted('read', api.get(`/products/${product + 4}`))
      for (let count = 0; count < 5; count += 1) await noted('cached', api.get(`/products/${product}`))
      // It waits for the disk, and nobody waits for it. If the machine pauses, the second may not be there yet.
      if ((await read).status !== 200 || order.slice(-6).indexOf('read') < 5) return false
      await Promise.all([first, second])
      await service.stop()
      expect(service.errors()).toMatch(/GET \/products\/5 took .*: waiting for the disk \d/)
      // The list, the second, and the read of it. Nothing was committed after these.
      const { responses, tooEarly } = shown(readFileSync(file, 'utf8'), /\[\{\\"id\\":|\{\\"id\\":5,/)
      expect(responses).toBe(3)
      expect(tooEarly).toEqual([])
      return true
    })
  },
)

test.skipIf(!CAN_TRACE)(
  'while the disk stores what was copied from the log, requests are answered, and no sync of a write holds them up',
  async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'calls')
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    {
      await using _ = await startService(database, { flags: FLAGS })
    }
    await using service = await startService(database, {
      flags: FLAGS,
      // SQLite stores the copied pages with `fsync`.
      through: strace(file, 'delay_enter=300000', 'fsync', 'fsync'),
    })
    const api = client(() => service.address)
    const created = () => api.create('/products/', { ...sample.product, description: 'x'.repeat(100_000) })
    const isStoring = () => /fsync\(.*shop\.db>/.test(readFileSync(file, 'utf8'))
    while (!isStoring()) await Promise.all(Array.from({ length: 10 }, created))
    await service.stop()
    const calls = readFileSync(file, 'utf8').split('\n')
    const main = threadOf(calls.find(call => call.includes('"HTTP/1.1')))
    const start = calls.findIndex(call => call.includes('fsync(') && threadOf(call) !== main)
    const end = calls.findIndex(call => call.includes('fsync(') && call.includes('shop.db>') && threadOf(call) !== main)
    const meanwhile = calls.slice(start, end).filter(call => threadOf(call) === main)
    expect(meanwhile.filter(call => call.includes('"HTTP/1.1'))).not.toEqual([])
    expect(meanwhile.filter(call => call.includes('fdatasync('))).toEqual([])
  },
)

test.skipIf(!CAN_TRACE)(
  'if the disk cannot store what was copied from the log, no write is acknowledged from then on, and a start copies all again',
  async () => {
    for (const sync of ['fdatasync', 'fsync']) {
      using folder = temporaryFolder()
      const { file, before } = await newDatabase(folder.path)
      let stored = 0
      {
        await using service = await startService(`sqlite:${file}`, {
          flags: FLAGS,
          // The first sync of each thread, but none of the log.
          through: [...strace('/dev/null', 'error=EIO:when=1', sync, 'fsync'), '-P', file],
        })
        const api = client(() => service.address)
        const created = () => api.post('/products/', { ...sample.product, description: 'x'.repeat(100_000) })
        let statuses: number[] = []
        for (; !statuses.includes(503) && stored < 1_000; stored += statuses.filter(status => status === 200).length) {
          statuses = (await Promise.all(Array.from({ length: 10 }, created))).map(({ status }) => status)
        }
        expect((await created()).status).toBe(503)
        expect((await api.get('/readyz')).status).toBe(503)
        expect((await api.get('/products/1')).status).toBe(200)
        expect(await service.stop()).toBeNull()
        expect(service.errors()).toMatch(/could not store.*start again/)
      }
      expect(stored).toBeGreaterThan(0)
      expect(await productsAfterLoss(file, before)).toBeGreaterThanOrEqual(stored)
    }
  },
)

test.skipIf(!CAN_TRACE)(
  'if the disk cannot store what a close copies from the log, the log stays, and a start copies all again',
  async () => {
    using folder = temporaryFolder()
    const { file, before } = await newDatabase(folder.path)
    let stored = 0
    {
      await using service = await startService(`sqlite:${file}`, {
        flags: FLAGS,
        // The first sync of each thread. The one that copies the log makes none, because somebody reads an older state.
        through: [...strace('/dev/null', 'error=EIO:when=1', 'fsync', 'fsync'), '-P', file],
      })
      const api = client(() => service.address)
      const create = async () => {
        await api.create('/products/', { ...sample.product, description: 'x'.repeat(100_000) })
        stored += 1
      }
      while (statSync(`${file}-wal`).size < 8_000_000) await create()
      using reader = new Database(file, { readonly: true })
      reader.run('BEGIN')
      reader.run('SELECT count(*) FROM products')
      // A part is copied, and not synced.
      while (statSync(file).size === statSync(before).size) await create()
      reader.close(true)
      expect(await service.stop()).toBeNull()
      expect(service.errors()).toMatch(/could not store.*start again/)
    }
    expect(await productsAfterLoss(file, before)).toBe(stored)
  },
)

test.skipIf(!CAN_TRACE)(
  'a close copies nothing more while another process has the file open, and the disk loses nothing',
  async () => {
    using folder = temporaryFolder()
    const { file, before } = await newDatabase(folder.path)
    const calls = join(folder.path, 'calls')
    await using other = await startService(`sqlite:${file}`, { flags: FLAGS })
    const api = client(() => other.address)
    await using closing = await startService(`sqlite:${file}`, {
      flags: FLAGS,
      // The first sync fails, and it takes a while to open the file again.
      through: [
        ...['strace', '-D', '-f', '-qq', '-y', '-o', calls, '-P', file, '-e', 'trace=fsync,close,openat'],
        ...['-e', 'inject=fsync:error=EIO:when=1', '-e', 'inject=openat:delay_enter=100000'],
      ],
    })
    using reader = await twoProducts(api, file)
    const { size } = statSync(file)
    const begun = readFileSync(calls, 'utf8').length
    const stopped = closing.stop()
    await until(() => /close\(.*shop\.db>/.test(readFileSync(calls, 'utf8').slice(begun)))
    // The first product is copied, and not synced.
    expect(statSync(file).size).toBeGreaterThan(size)
    reader.close(true)
    expect(await stopped).toBe(0)
    // This would begin a new log if all was copied.
    await createLong(api)
    await other.stop('SIGKILL')
    expect(await productsAfterLoss(file, before)).toBe(3)
  },
)

test.skipIf(!CAN_TRACE)(
  'if two processes close the file, and the disk cannot store what one of them copies, the other does not move the rest alone',
  async () => {
    const moments: [RegExp, number | null][] = [
      // The other one is copying.
      [/shop\.db-shm>, .*F_WRLCK.*EAGAIN/, null],
      // It has opened the file again: beside the other one, or it may not.
      [/shop\.db-shm>, F_SETLK, .*F_RDLCK.*l_start=128,|shop\.db>, .*F_WRLCK.*EAGAIN/, 0],
    ]
    for (const [moment, status] of moments) {
      using folder = temporaryFolder()
      const { file, before } = await newDatabase(folder.path)
      const [syncs, calls] = [join(folder.path, 'syncs'), join(folder.path, 'calls')]
      await using failing = await startFailing(file, syncs, 2)
      await using closing = await startService(`sqlite:${file}`, {
        flags: FLAGS,
        // Slow enough to be stopped after such a call.
        through: [
          ...['strace', '-D', '-f', '-qq', '-y', '-o', calls, '-P', file, '-P', `${file}-shm`],
          ...['-e', 'trace=fcntl', '-e', 'inject=fcntl:delay_exit=20000'],
        ],
      })
      const { failed } = await stopInCopy(failing, file, syncs)
      const begun = readFileSync(calls, 'utf8').length
      const stopped = closing.stop()
      await until(() => moment.test(readFileSync(calls, 'utf8').slice(begun)))
      process.kill(closing.processId, 'SIGSTOP')
      expect(await failed).toBeNull()
      copyFileSync(before, file)
      process.kill(closing.processId, 'SIGCONT')
      expect(await stopped).toBe(status)
      expect(await productsAtStart(file)).toBe(2)
    }
  },
)

test.skipIf(!CAN_TRACE)(
  'a start beside a process that ends because the disk could not store what it copied does not move the rest alone',
  async () => {
    using folder = temporaryFolder()
    const { file, before } = await newDatabase(folder.path)
    const [syncs, calls] = [join(folder.path, 'syncs'), join(folder.path, 'calls')]
    await using failing = await startFailing(file, syncs, 4)
    const { failed } = await stopInCopy(failing, file, syncs)
    const starting = startService(`sqlite:${file}`, {
      flags: FLAGS,
      // Slow enough to be stopped when it has begun to use the shared file.
      through: [
        ...['strace', '-D', '-f', '-qq', '-y', '-o', calls, '-P', `${file}-shm`],
        ...['-e', 'trace=fcntl', '-e', 'inject=fcntl:delay_exit=50000'],
      ],
    })
    await until(() => existsSync(calls) && readFileSync(calls, 'utf8') !== '')
    const processId = Number.parseInt(readFileSync(calls, 'utf8'), 10)
    process.kill(processId, 'SIGSTOP')
    expect(await failed).toBeNull()
    copyFileSync(before, file)
    process.kill(processId, 'SIGCONT')
    await (await starting).stop()
    expect(await productsAtStart(file)).toBe(2)
  },
)

test.skipIf(!CAN_TRACE)(
  'if the disk cannot store a commit, no write is acknowledged from then on, and reads go on',
  async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    {
      await using service = await startService(database, { flags: FLAGS })
      await postKeyed(
        client(() => service.address),
        { key: 'other', path: '/products/', body: sample.product },
      )
    }
    {
      await using service = await startService(database, {
        flags: FLAGS,
        // The first sync of each thread.
        through: strace('/dev/null', 'error=EIO:when=1'),
      })
      const api = client(() => service.address)
      const request = { key: 'one', path: '/products/', body: sample.product }
      // The second time, its answer is in the database, but perhaps not on the disk.
      for (const failed of [await postKeyed(api, request), await postKeyed(api, request)]) {
        expect([failed.status, failed.headers.get('Retry-After')]).toEqual([503, null])
      }
      // A later sync would succeed, although the disk has lost the commit before.
      for (const path of ['/products/', '/categories/']) {
        expect((await api.post(path, path === '/products/' ? sample.product : sample.category)).status).toBe(503)
      }
      expect((await api.get('/readyz')).status).toBe(503)
      expect((await api.get('/products/1')).status).toBe(200)
      expect((await listOf(api, '/products/')).length).toBeGreaterThanOrEqual(1)
      const polled = (since: string) => api.get(`/events?since=${since}&limit=1`, { Accept: NDJSON_TYPE })
      const first = JSON.parse(String((await polled('start')).body))
      expect(await polled(first.id)).toMatchObject({ status: 200, body: expect.stringContaining('product.created') })
      // The pipe of the log may lag behind the answers.
      await until(() => service.errors().includes('could not store'))
      const told = service
        .errors()
        .split('\n')
        .filter(line => line.includes('could not store'))
      expect(told).toHaveLength(1)
      expect(told[0]).toMatch(/shop\.db.*EIO.*start again/)
      loseFrames(join(folder.path, 'shop.db-wal'))
      expect(await service.stop()).toBeNull()
    }
    await using service = await startService(database, { flags: FLAGS })
    const api = client(() => service.address)
    expect((await api.get('/products/1')).status).toBe(200)
    await api.create('/products/', sample.product)
    expect((await listOf(api, '/products/')).length).toBeGreaterThan(1)
  },
)

test.skipIf(!CAN_TRACE)(
  'after the disk could not store a commit of one process, no other one on the file writes, until all have ended',
  async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const started = () => startService(database, { flags: FLAGS })
    await using other = await started()
    await client(() => other.address).create('/products/', sample.product)
    await using failing = await startService(database, {
      flags: FLAGS,
      // The first sync of each thread.
      through: strace('/dev/null', 'error=EIO:when=1'),
    })
    expect((await client(() => failing.address).post('/products/', sample.product)).status).toBe(503)
    await using late = await started()
    for (const service of [failing, other, late]) {
      const api = client(() => service.address)
      expect((await api.post('/products/', sample.product)).status).toBe(503)
      expect((await api.get('/readyz')).status).toBe(503)
      expect((await api.get('/products/1')).status).toBe(200)
    }
    await until(() => other.errors().includes('could not store'))
    for (const service of [failing, other, late]) await service.stop('SIGKILL')
    expect(other.errors()).toMatch(/could not store.*another process/)
    // A start that is killed while it removes the old log leaves the next one to do it.
    const killed = ['strace', '-D', '-f', '-qq', '-o', '/dev/null', '-e', 'inject=unlink:signal=KILL:when=1']
    await expect(startService(database, { flags: FLAGS, through: killed })).rejects.toThrow('did not start')
    await using again = await started()
    const api = client(() => again.address)
    await api.create('/products/', sample.product)
    expect((await api.get('/readyz')).status).toBe(200)
    expect((await listOf(api, '/products/')).length).toBeGreaterThan(1)
  },
)

test.skipIf(!CAN_TRACE)(
  'a process that has met damage in the file leaves a log in its place of which the disk has lost a part, too',
  async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'shop.db')
    {
      await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
      await client(() => service.address).create('/users/', sample.user)
    }
    damage(file, 'users')
    await using other = await startService(`sqlite:${file}`, { flags: FLAGS })
    expect((await client(() => other.address).get('/users/1')).status).toBe(503)
    await using failing = await startService(`sqlite:${file}`, {
      flags: FLAGS,
      // The first sync of each thread.
      through: strace('/dev/null', 'error=EIO:when=1'),
    })
    expect((await client(() => failing.address).post('/products/', sample.product)).status).toBe(503)
    for (const service of [failing, other]) expect(await service.stop()).toBeNull()
    expect(existsSync(`${file}-wal`)).toBe(true)
  },
)

test('processes that find the file by different links share one record of its log, with the owner and the mode of the file', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  symlinkSync(file, join(folder.path, 'link.db'))
  const NOBODY = 65_534
  await (await startService(`sqlite:${file}`, { flags: FLAGS })).stop()
  if (process.geteuid?.() === 0) chownSync(file, NOBODY, NOBODY)
  chmodSync(file, 0o660)
  await using _ = await startService(`sqlite:${file}`, { flags: FLAGS })
  await using __ = await startService(`sqlite:${join(folder.path, 'link.db')}`, { flags: FLAGS })
  const records = readdirSync(folder.path).filter(name => name.endsWith('-synced'))
  expect(records).toEqual(['shop.db-synced'])
  const { uid, mode } = statSync(join(folder.path, 'shop.db-synced'))
  expect({ uid, mode: mode & 0o777 }).toEqual({ uid: statSync(file).uid, mode: 0o660 })
})

test('a record that is older or newer than the log, or was written in part, spares no sync', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using first = await openSqlite(file, [])
  using other = new Database(file)
  other.run('PRAGMA synchronous = OFF')
  /** Commits past this process, and records the log so far, and more, as synced. */
  const commit = (isWhole: boolean) => {
    other.run('PRAGMA user_version = 1')
    const header = new Int32Array(readFileSync(`${file}-shm`).buffer, 0, 12)
    const [one = 0, two = 0] = header.subarray(8)
    const frames = (header[4] ?? 0) + 100
    const checkSum = one ^ two ^ frames ^ 0x53_74_6f_63
    writeFileSync(`${file}-synced`, new Int32Array([one, two, frames, isWhole ? checkSum : checkSum + 1]), {
      flag: 'r+',
    })
  }
  const syncsOf = (database: SqliteDatabase) => {
    const { syncSeconds } = database.figures
    const before = syncSeconds.counts.reduce((sum, count) => sum + count, 0)
    database.snapshot(() => {})
    return syncSeconds.counts.reduce((sum, count) => sum + count, 0) - before
  }
  commit(true)
  expect(syncsOf(first)).toBe(0)
  commit(false)
  expect(syncsOf(first)).toBe(1)
  commit(true)
  await using second = await openSqlite(file, [])
  expect(syncsOf(second)).toBe(1)
})

test.skipIf(!CAN_TRACE)(
  'a commit of another process is shown when it is on the disk, at no cost if that process has synced it',
  async () => {
    await until(async () => {
      using folder = temporaryFolder()
      const file = join(folder.path, 'calls')
      const database = `sqlite:${join(folder.path, 'shop.db')}`
      await using first = await startService(database, { flags: FLAGS })
      const product = await client(() => first.address).create('/products/', sample.product)
      await using slow = await startService(database, {
        flags: FLAGS,
        through: strace('/dev/null', 'delay_enter=700000'),
      })
      await using reading = await startService(database, { flags: FLAGS, through: strace(file, null) })
      const writer = client(() => slow.address)
      const reader = client(() => reading.address)
      const path = `/products/${product}`
      await reader.get(path)
      let isAcknowledged = false
      const stored = writer.put(path, { ...sample.product, price: 7001 }).then(() => {
        isAcknowledged = true
      })
      await until(async () => JSON.stringify((await reader.get(path)).body).includes('7001'))
      const isOnTheDisk = isAcknowledged
      await stored
      // The machine paused. Otherwise the reader has synced it.
      if (isOnTheDisk) return false
      await writer.put(path, { ...sample.product, price: 7002 })
      for (const shown of [path, '/products/', '/products/?limit=1000']) {
        expect(JSON.stringify((await reader.get(shown)).body)).toContain('7002')
      }
      await reading.stop()
      const calls = readFileSync(file, 'utf8').split('\n')
      const syncsBetween = (start: number, end: number) =>
        calls.slice(start, end).filter(call => call.includes('fdatasync(')).length
      const unchanged = calls.findIndex(call => call.includes('HTTP/1.1 200'))
      const changed = calls.findIndex(call => /HTTP.*price\W+7001/.test(call))
      const last = calls.findLastIndex(call => /HTTP.*price\W+7002/.test(call))
      expect(syncsBetween(unchanged, changed)).toBe(1)
      expect(last).toBeGreaterThan(changed)
      expect(syncsBetween(changed, last)).toBe(0)
      return true
    })
  },
)

test.skipIf(!CAN_TRACE)('a follower gets an event of another process when it is on the disk', async () => {
  await until(async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'calls')
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    await using slow = await startService(database, {
      flags: FLAGS,
      through: strace('/dev/null', 'delay_enter=700000'),
    })
    await using reading = await startService(database, { flags: FLAGS, through: strace(file, null) })
    await using follower = await EventFollower.at(reading.address)
    let isAcknowledged = false
    const stored = client(() => slow.address)
      .create('/categories/', sample.category)
      .then(() => {
        isAcknowledged = true
      })
    await follower.count(1)
    const isOnTheDisk = isAcknowledged
    await stored
    // The machine paused. Otherwise the reader has synced it.
    if (isOnTheDisk) return false
    await reading.stop()
    const calls = readFileSync(file, 'utf8').split('\n')
    const [ready, shown] = ['event: ready', 'event: category.created'].map(text =>
      calls.findIndex(call => call.includes(text)),
    )
    expect(calls.slice(ready, shown).filter(call => /fdatasync.*= 0/.test(call))).toHaveLength(1)
    return true
  })
})

/** A database without products, and a copy of its file. */
async function newDatabase(folder: string) {
  const file = join(folder, 'shop.db')
  const before = join(folder, 'before.db')
  {
    await using _ = await startService(`sqlite:${file}`, { flags: FLAGS })
  }
  copyFileSync(file, before)
  return { file, before }
}

/** Starts a service that cannot sync the file, and learns it only after a while. */
function startFailing(file: string, syncs: string, seconds: number): Promise<Service> {
  const faults = `error=EIO:delay_enter=${seconds}000000:when=1`
  return startService(`sqlite:${file}`, {
    flags: FLAGS,
    through: [...strace(syncs, faults, 'fsync', 'fsync'), '-P', file],
  })
}

/** Tells the service to stop, and waits until it has copied its log and syncs the file. `failed` is its exit status. */
async function stopInCopy(failing: Service, file: string, syncs: string): Promise<{ failed: Promise<number | null> }> {
  await copiedInPart(failing, file)
  const failed = failing.stop()
  await until(() => /fsync\(.*shop\.db>/.test(readFileSync(syncs, 'utf8')))
  return { failed }
}

function createLong(api: Client): Promise<number> {
  return api.create('/products/', { ...sample.product, description: 'x'.repeat(100_000) })
}

/** Makes two long products. Resolves to a reader of the state between them, beside which only the first can be copied from the log. */
async function twoProducts(api: Client, file: string): Promise<Database> {
  await createLong(api)
  const reader = new Database(file, { readonly: true })
  reader.run('BEGIN')
  reader.run('SELECT count(*) FROM products')
  await createLong(api)
  return reader
}

/** Makes two products, and copies the first from the log into the file, which is not synced. */
async function copiedInPart(service: Service, file: string): Promise<void> {
  using reader = await twoProducts(
    client(() => service.address),
    file,
  )
  const { size } = statSync(file)
  expect((await run(['key', 'list', '--database', `sqlite:${file}`])).status).toBe(0)
  expect(statSync(file).size).toBeGreaterThan(size)
  reader.close(true)
}

/** The number of products after a start as if the disk had stored nothing since `before`. */
function productsAfterLoss(file: string, before: string): Promise<number> {
  copyFileSync(before, file)
  return productsAtStart(file)
}

/** The number of products after a start, which also takes writes again. */
async function productsAtStart(file: string): Promise<number> {
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
  const products = await listOf(api, '/products/?limit=10000')
  await api.create('/products/', sample.product)
  return products.length
}

/** The thread that made a call, as `strace` names it. */
function threadOf(call = ''): string | undefined {
  return call.split(' ')[0]
}

/** Leaves zeros in place of the pages in a log, as a disk may that could not store them. */
function loseFrames(log: string): void {
  const descriptor = openSync(log, 'r+')
  const { size } = statSync(log)
  for (let frame = LOG_HEADER_BYTES; frame < size; frame += FRAME_HEADER_BYTES + PAGE_BYTES) {
    writeSync(descriptor, new Uint8Array(PAGE_BYTES), 0, PAGE_BYTES, frame + FRAME_HEADER_BYTES)
  }
  closeSync(descriptor)
}

/** Finds the responses with this text, and those of them that were sent before all commits were in a sync that has ended. */
function shown(trace: string, text: RegExp) {
  const began = new Map<string, number>()
  const tooEarly: string[] = []
  let responses = 0
  let written = 0
  let durable = 0
  for (const line of trace.split('\n')) {
    const [thread = ''] = line.split(' ')
    if (/pwrite64\(.*-wal>/.test(line)) written += 1
    if (line.includes('fdatasync(')) began.set(thread, written)
    if (/fdatasync.*= 0/.test(line)) durable = Math.max(durable, began.get(thread) ?? 0)
    if (!/"HTTP\/1\.1 200/.test(line) || !text.test(line)) continue
    responses += 1
    if (durable < written) tooEarly.push(line)
  }
  return { responses, tooEarly }
}
