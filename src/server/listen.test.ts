import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { client } from '../../test/harness/client.ts'
import { atRoot, HAS_IPV6, LOOPBACK } from '../../test/harness/loopback.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, startServer, startService } from '../../test/harness/service.ts'
import { startShop } from '../../test/harness/shop.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'
import { listen } from './listen.ts'

setDefaultTimeout(120_000)

const FIRST_FREE_PORT = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
/** Whether a user without rights, such as everybody in a namespace of users, may not listen on port 80. */
const HAS_RESERVED_PORTS =
  existsSync(FIRST_FREE_PORT) &&
  Number(readFileSync(FIRST_FREE_PORT, 'utf8')) > 80 &&
  Bun.which('unshare') !== null &&
  spawnSync(['unshare', '--user', 'true']).exitCode === 0

test('a port in use is reported with its number, and the database stays as it was', async () => {
  using folder = temporaryFolder()
  using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const database = `sqlite:${join(folder.path, 'shop.db')}`
  await seeded(database)
  const refused = await run(['serve', '--host', '127.0.0.1', '--port', String(taken.port), '--database', database])
  expectRefusal(refused, { status: 1, reason: new RegExp(`127\\.0\\.0\\.1:${taken.port} is in use.*--port`) })
  await using service = await startService(database)
  expect((await client(() => service.address).get('/products/3')).status).toBe(200)
})

test('a second service on the port of the first is refused, and the first goes on', async () => {
  await using shop = await startShop()
  const { url: database, service } = shop
  const { port } = new URL(service.address)
  const refused = await run(['serve', '--host', '127.0.0.1', '--port', port, '--database', database])
  expectRefusal(refused, { status: 1, reason: /in use/ })
  expect(await client(() => service.address).create('/products/', sample.product)).toBe(1)
})

test.skipIf(!HAS_IPV6)('an IPv6 address may have brackets, as in a URL', async () => {
  using folder = temporaryFolder()
  const place = ['--host', '[::1]', '--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  await using service = await startServer(['serve', ...place])
  expect(service.address).toStartWith('http://[::1]:')
  expect((await fetch(`${service.address}/healthz`)).status).toBe(200)
})

test("an address that is not this machine's is reported", async () => {
  using folder = temporaryFolder()
  const flags = ['--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  const elsewhere = await run(['serve', '--host', '203.0.113.7', ...flags])
  expectRefusal(elsewhere, {
    status: 1,
    reason: /cannot listen on 203\.0\.113\.7:0: this machine has no such address$/m,
  })
})

test.skipIf(!HAS_RESERVED_PORTS)('a port that is reserved for root is reported with what to do', async () => {
  using folder = temporaryFolder()
  const flags = ['--host', '127.0.0.1', '--port', '80', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  const refused = await run(['serve', ...flags], { through: ['unshare', '--user'] })
  expectRefusal(refused, {
    status: 1,
    reason: /cannot listen on 127\.0\.0\.1:80: .*; choose a higher one with --port$/m,
  })
})

test('a request that has no answer after the time for a stop is cut', async () => {
  const server = listen({ ...LOOPBACK, app: atRoot(() => new Promise(() => {})) })
  const answer = fetch(server.address).then(
    () => 'answered',
    () => 'cut',
  )
  await until(() => server.requestsInProgress() === 1)
  await server[Symbol.asyncDispose]()
  expect(await Promise.race([answer, Bun.sleep(5_000)])).toBe('cut')
})

async function seeded(database: string): Promise<void> {
  const { status, errors } = await run(['seed', '--database', database, '--products', '10', '--reviews', '20'])
  if (status !== 0) throw new Error(errors)
}
