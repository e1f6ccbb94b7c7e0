import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { idOf, listOf } from '../../../test/harness/catalog/resources.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { CAN_MOUNT, inItsOwnMounts } from '../../../test/harness/mounts.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { sample } from '../../../test/harness/samples.ts'
import { run, startService } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** Whether a limit on the size of files can be set, and lifted while the process runs. */
const CAN_LIMIT = Bun.which('prlimit') !== null

/** More than an empty database and its log need. */
const SMALL_DISK_KIB = 1_024

/** The signal would end a process that exceeds the limit; without it, the write fails as on a full disk. */
const ON_SMALL_DISK = ['bash', '-c', `trap '' XFSZ; ulimit -S -f ${SMALL_DISK_KIB}; exec "$@"`, 'bash']

const BIG_PRODUCT = { ...sample.product, description: 'x'.repeat(50_000) }

test.skipIf(!CAN_LIMIT)(
  'while the file cannot grow, a write is answered 503, nothing is lost, and reads go on; with room, writes do too',
  async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const stored: number[] = []
    {
      await using service = await startService(database, {
        flags: ['--access-log', 'off'],
        through: ON_SMALL_DISK,
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
  'on a full disk, a write is answered 503, nothing is lost, and reads go on; with room, writes do too',
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
    // The disk, as only the service sees it.
    const seen = `/proc/${service.processId}/root${disk}`
    expect(existsSync(`${seen}/shop.db`)).toBe(true)
    // Somebody else fills it, so no write has failed yet.
    expect(spawnSync(['dd', 'if=/dev/zero', `of=${seen}/other`]).exitCode).toBe(1)
    await until(async () => (await api.get('/readyz')).status === 503)
    await Bun.file(`${seen}/other`).delete()
    await until(async () => (await api.get('/readyz')).status === 200)
    const stored = await fillUp(api)
    await expectReadableAndFull(api, stored)
    expectUnavailable(await api.get('/readyz'))
    await Bun.file(`${seen}/ballast`).delete()
    await until(async () => (await api.get('/readyz')).status === 200)
    stored.push(await api.create('/products/', BIG_PRODUCT))
    expect(await idsOf(api)).toEqual(stored)
  },
)

test.skipIf(!CAN_MOUNT)('a service with a full disk stops with status 0 and without a stack trace', async () => {
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

test.skipIf(!CAN_LIMIT)(
  'simultaneous writes on a full disk are each refused, and everything acknowledged is there',
  async () => {
    using folder = temporaryFolder()
    const database = `sqlite:${join(folder.path, 'shop.db')}`
    const stored: number[] = []
    {
      await using service = await startService(database, {
        flags: ['--access-log', 'off'],
        through: ON_SMALL_DISK,
      })
      const api = client(() => service.address)
      for (let round = 0; round < 5; round += 1) {
        const answers = await Promise.all(Array.from({ length: 16 }, () => api.post('/products/', BIG_PRODUCT)))
        for (const answer of answers) {
          if (answer.status === 200) stored.push(idOf(answer.body))
          else expectUnavailable(answer)
        }
      }
      expect((await idsOf(api)).sort(ascending)).toEqual(stored.sort(ascending))
      await service.stop('SIGKILL')
    }
    await using again = await startService(database)
    expect((await idsOf(client(() => again.address))).sort(ascending)).toEqual(stored)
  },
)

test.skipIf(!CAN_MOUNT)('a start on a full disk fails with one line that says so', async () => {
  using folder = temporaryFolder()
  const disk = join(folder.path, 'disk')
  mkdirSync(disk)
  const file = join(folder.path, 'shop.db')
  await (await startService(`sqlite:${file}`)).stop()
  const through = inItsOwnMounts(`mount -t tmpfs -o size=${SMALL_DISK_KIB}k none '${disk}'`, [
    `cp '${file}' '${disk}'`,
    `{ dd if=/dev/zero of='${disk}/ballast' bs=1024 2>/dev/null; true; }`,
  ])
  const refused = await run(['serve', '--port', '0', '--database', `sqlite:${disk}/shop.db`], { through })
  expectRefusal(refused, { status: 1, reason: /disk\/shop\.db: the disk is full/ }, 'serve')
})

test('seeding a disk that is too small fails with one line, and leaves the catalog empty', async () => {
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

/** Creates products until there is no more room; returns the ids of those that were stored. */
async function fillUp(api: Client): Promise<number[]> {
  const taken: number[] = []
  for (;;) {
    const answer = await api.post('/products/', BIG_PRODUCT)
    if (answer.status !== 200) {
      expectUnavailable(answer)
      expect(taken.length, 'products before the disk was full').toBeGreaterThan(3)
      return taken
    }
    taken.push(idOf(answer.body))
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

async function idsOf(api: Client): Promise<number[]> {
  return (await listOf(api, '/products/?limit=100000')).map(({ id }) => id)
}

function ascending(a: number, b: number): number {
  return a - b
}

function onSmallDisk(disk: string): string[] {
  return inItsOwnMounts(`mount -t tmpfs -o size=${SMALL_DISK_KIB * 2}k none '${disk}'`, [
    `dd if=/dev/zero of='${disk}/ballast' bs=1024 count=512 2>/dev/null`,
  ])
}
