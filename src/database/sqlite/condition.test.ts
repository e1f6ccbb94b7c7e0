import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listOf } from '../../../test/harness/catalog/resources.ts'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { damage } from '../../../test/harness/damage.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService, WITH_FAST_CLOCK } from '../../../test/harness/service.ts'
import { startShop } from '../../../test/harness/shop.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** More items than a list has that is not streamed. */
const LONG_LIST = 300

const FLAGS = ['--access-log', 'off']

test('once damage is seen, no write is acknowledged, the service is not ready, and one line says what to do', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  const backup = join(folder.path, 'backup.db')
  await fill(file)
  copyFileSync(file, backup)
  damage(file, 'products')
  {
    await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
    const api = client(() => service.address)
    expect((await api.post('/categories/', sample.category)).status).toBe(200)
    await expectReady(api)
    expectDamaged(await api.get('/products/1'))
    expectDamaged(await api.get('/readyz'))
    expectDamaged(await api.post('/categories/', sample.category))
    expectDamaged(await api.put('/categories/1', sample.category))
    expectDamaged(await api.delete('/users/1'))
    expect((await api.get('/healthz')).status).toBe(200)
    // Undamaged data can still be read.
    expect((await api.get('/users/1')).body).toMatchObject({ id: 1, name: sample.user.name })
    expect((await api.get('/categories/')).body).toHaveLength(2)
    expectDamaged(await api.get('/readyz'))
    // Then all its lines have arrived here.
    expect(await service.stop()).toBe(0)
    const told = service
      .errors()
      .split('\n')
      .filter(line => line.includes('damaged'))
    expect(told).toHaveLength(1)
    expect(told[0]).toMatch(/shop\.db.*backup.*docs\/operations\.md/)
  }
  for (const companion of ['-wal', '-shm']) rmSync(file + companion, { force: true })
  copyFileSync(backup, file)
  await using restored = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => restored.address)
  await expectReady(api)
  expect((await api.get('/products/1')).status).toBe(200)
  expect((await api.post('/products/', sample.product)).status).toBe(200)
})

test('while writes wait in vain for the lock of another program, the service is not ready, until one succeeds', async () => {
  await using shop = await startShop({ flags: FLAGS, program: WITH_FAST_CLOCK })
  const { api, file } = shop
  const id = await api.create('/products/', sample.product)
  using other = new Database(file)
  other.run('BEGIN IMMEDIATE')
  await expectReady(api)
  const waiting = [api.put(`/products/${id}`, sample.product), api.post('/products/', sample.product)]
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(503)
  for (let asked = 0; asked < 2; asked += 1) expect((await api.get('/readyz')).status).toBe(503)
  expect((await api.get(`/products/${id}`)).status).toBe(200)
  other.run('COMMIT')
  expect((await api.put(`/products/${id}`, sample.product)).status).toBe(200)
  await expectReady(api)
  expect(shop.service.errors()).toContain('writes wait in vain for another program that holds the write lock')
  other.run('BEGIN IMMEDIATE')
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  other.run('COMMIT')
  // Without any other write.
  await until(async () => (await api.get('/readyz')).status === 200)
})

test('writes that share a commit with one that meets damage are neither acknowledged nor done', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await fill(file)
  damage(file, 'products')
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, place) =>
      place === 5 ? api.post('/products/', sample.product) : api.post('/categories/', sample.category),
    ),
  )
  const done = answers.filter(({ status }) => status === 200).length
  for (const answer of answers.filter(({ status }) => status !== 200)) expectDamaged(answer)
  expectDamaged(await api.post('/categories/', sample.category))
  expect((await api.get('/categories/?limit=1000')).body).toHaveLength(1 + done)
})

test('a service whose file is damaged in its first page stops in order', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await fill(file)
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
  using other = new Database(file)
  other.run('BEGIN IMMEDIATE')
  other.run('UPDATE categories SET name = name')
  damage(file, 'sqlite_schema')
  // After a commit of another program, the service reads the first page again.
  other.run('COMMIT')
  expectDamaged(await api.get('/products/1'))
  expect(await service.stop()).toBe(0)
  // Lines of the log, without the trace of an error.
  for (const line of service.errors().trimEnd().split('\n')) expect(line).toStartWith('{')
})

test('a database file that was moved away is neither read nor written, and the service is ready again once it is back', async () => {
  await using shop = await startShop({ flags: FLAGS })
  const { api, file } = shop
  const id = await api.create('/products/', sample.product)
  const path = `/products/${id}`
  expect((await api.get(path)).status).toBe(200)
  renameSync(file, `${file}.away`)
  expect((await api.get('/readyz')).status).toBe(503)
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  await until(async () => (await api.get(path)).status === 503)
  expect((await api.get('/products/')).status).toBe(503)
  renameSync(`${file}.away`, file)
  await expectReady(api)
  expect((await api.get(path)).status).toBe(200)
})

test('while the database file is moved away, writes are answered 503, and they go on once it is back', async () => {
  await using shop = await startShop({ flags: ['--access-log', 'off'] })
  const { api, file: path } = shop
  const before = await api.create('/products/', sample.product)
  renameSync(path, `${path}.away`)
  expectUnavailable(await api.post('/products/', sample.product))
  writeFileSync(path, '')
  expectUnavailable(await api.post('/products/', sample.product))
  renameSync(`${path}.away`, path)
  const after = await api.create('/products/', sample.product)
  expect(await idsOf(api)).toEqual([before, after])
})

test('a long list of a file that was moved away creates no other one, and loses nothing in the log beside it', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'shop.db')
  const service = await startService(`sqlite:${path}`, { flags: FLAGS })
  const api = client(() => service.address)
  await Promise.all(Array.from({ length: LONG_LIST }, () => api.create('/products/', sample.product)))
  renameSync(path, `${path}.away`)
  expectUnavailable(await api.get(`/products/?limit=${LONG_LIST}`))
  expect(existsSync(path)).toBe(false)
  await service.stop('SIGKILL')
  renameSync(`${path}.away`, path)
  await using again = await startService(`sqlite:${path}`, { flags: FLAGS })
  expect(await idsOf(client(() => again.address))).toHaveLength(LONG_LIST)
})

/** One of each resource, stored in the file itself. */
async function fill(file: string): Promise<void> {
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
  await api.create('/categories/', sample.category)
  await api.create('/products/', sample.product)
  await api.create('/users/', sample.user)
}

async function expectReady(api: Client): Promise<void> {
  const { status, body } = await api.get('/readyz')
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ready' } })
}

/** Retrying does not help, so the answer does not ask for it. */
function expectDamaged({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 503, body: { detail: 'The database is damaged' } })
  expect(headers.get('Retry-After')).toBe(null)
}

function expectUnavailable({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 503, body: { detail: expect.stringMatching(/database/) } })
  expect(headers.get('Retry-After')).toMatch(/^[1-9][0-9]*$/)
}

async function idsOf(api: Client): Promise<number[]> {
  return (await listOf(api, '/products/?limit=100000')).map(({ id }) => id)
}
