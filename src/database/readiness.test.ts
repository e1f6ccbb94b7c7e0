import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { closeSync, copyFileSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { chatClient } from '../../test/harness/chat/chat-client.ts'
import { type Answer, type Client, client } from '../../test/harness/client.ts'
import { connected, createDatabase } from '../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../test/harness/postgres/shared-server.ts'
import { sample } from '../../test/harness/samples.ts'
import { startServer, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(60_000)

const FLAGS = ['--access-log', 'off']

test('once damage is seen no write is acknowledged, the service is not ready, and one line says what to do', async () => {
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
    // What is not damaged is still there to be read.
    expect((await api.get('/users/1')).body).toMatchObject({ id: 1, name: sample.user.name })
    expect((await api.get('/categories/')).body).toHaveLength(2)
    expectDamaged(await api.get('/readyz'))
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

test('writes that share a commit with one that meets damage are not acknowledged, nor done', async () => {
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

test('a database that was moved away is neither read nor written, and the service is ready again when it is back', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'shop.db')
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
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

test('the chat is ready only while its prompts can be stored', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'chat.db')
  const argv = ['chat', '--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`, ...FLAGS]
  {
    await using server = await startServer(argv)
    const chat = chatClient(server.address)
    expect((await chat.post('before', 'What is a spade?')).status).toBe(200)
    expect((await chat.get('/readyz')).status).toBe(200)
    renameSync(file, `${file}.away`)
    expect((await chat.get('/readyz')).status).toBe(503)
    renameSync(`${file}.away`, file)
    expect((await chat.get('/readyz')).status).toBe(200)
  }
  damage(file, 'prompts')
  await using server = await startServer(argv)
  const chat = chatClient(server.address)
  expect((await chat.post('damaged', 'What is a spade?')).status).toBe(503)
  expect((await chat.get('/readyz')).status).toBe(503)
  expect((await chat.get('/healthz')).status).toBe(200)
})

test('on a PostgreSQL that takes no writes the catalog and the chat are not ready, until it does', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', database.url, ...FLAGS]
  await using chatServer = await startServer(['chat', ...place])
  const api = client(() => service.address)
  const chat = client(() => chatServer.address)
  await expectReady(api)
  await expectReady(chat)
  await setReadOnly(database.url, 'on')
  await until(async () => (await api.get('/readyz')).status === 503)
  await until(async () => (await chat.get('/readyz')).status === 503)
  expect((await api.get('/products/')).status).toBe(200)
  expect((await api.post('/products/', sample.product)).status).toBe(503)
  await setReadOnly(database.url, 'off')
  await until(async () => (await api.get('/readyz')).status === 200)
  await until(async () => (await chat.get('/readyz')).status === 200)
  expect((await api.post('/products/', sample.product)).status).toBe(200)
})

/** For new connections, and no old ones are left. */
async function setReadOnly(url: string, value: 'on' | 'off'): Promise<void> {
  await using database = connected(url)
  await database.unsafe('SET default_transaction_read_only = off')
  const name = new URL(url).pathname.slice(1)
  await database.unsafe(`ALTER DATABASE "${name}" SET default_transaction_read_only = ${value}`)
  await database.unsafe(`
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`)
}

/** One of each, in the file itself. */
async function fill(file: string): Promise<void> {
  await using service = await startService(`sqlite:${file}`, { flags: FLAGS })
  const api = client(() => service.address)
  await api.create('/categories/', sample.category)
  await api.create('/products/', sample.product)
  await api.create('/users/', sample.user)
}

/** Writes garbage over the first page of a table. */
function damage(file: string, table: string): void {
  using database = new Database(file)
  const { size } = database.query<{ size: number }, []>('SELECT page_size AS size FROM pragma_page_size').get() ?? {
    size: 0,
  }
  const root = database
    .query<{ page: number }, [string]>('SELECT rootpage AS page FROM sqlite_schema WHERE name = ?')
    .get(table)
  database.close()
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, new Uint8Array(size).fill(0xa5), 0, size, ((root?.page ?? 0) - 1) * size)
  closeSync(descriptor)
}

async function expectReady(api: Client): Promise<void> {
  const { status, body } = await api.get('/readyz')
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ready' } })
}

/** Trying again does not help, so nobody is asked to. */
function expectDamaged({ status, headers, body }: Answer): void {
  expect({ status, body }).toEqual({ status: 503, body: { detail: 'The database is damaged' } })
  expect(headers.get('Retry-After')).toBe(null)
}
