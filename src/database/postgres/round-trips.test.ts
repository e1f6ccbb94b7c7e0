import { expect, setDefaultTimeout, test } from 'bun:test'
import { type Answer, client } from '../../../test/harness/client.ts'
import { createDatabase } from '../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { openTcpProxy } from '../../../test/harness/tcp-proxy.ts'

/** Between two machines, each answer that the service waits for takes longer than most statements. */

setDefaultTimeout(120_000)

/** Until every connection has prepared its statements, and once without anything that the service does by itself. */
const TRIES = 30

test('statements that need no answer of each other are sent to the server at once', async () => {
  const server = await sharedServerUrl()
  await using database = await createDatabase(server)
  await using proxy = await openTcpProxy(Number(new URL(server).port))
  await using service = await startService(proxy.url(database.name), {
    flags: ['--access-log', 'off', '--cache-bytes', '0'],
  })
  const api = client(() => service.address)
  for (let count = 0; count < TRIES; count += 1) await api.create('/products/', sample.product)
  const fewestSent = async (ask: (count: number) => Promise<Answer>) => {
    const counts = []
    for (let count = 1; count <= TRIES; count += 1) {
      const before = proxy.sent()
      expect((await ask(count)).status).toBe(200)
      counts.push(proxy.sent() - before)
    }
    return Math.min(...counts)
  }
  // The notes of the index; the beginning, the page and the end of a transaction; the rows of the page.
  expect(await fewestSent(() => api.get('/products/?q=spade&limit=5'))).toBeLessThanOrEqual(5)
  // The same if there are fewer matches than the page has room for.
  expect(await fewestSent(() => api.get('/products/?q=spade&limit=500'))).toBeLessThanOrEqual(5)
  // The beginning; the row; its reviews; the delete with its row of the log; the end.
  expect(await fewestSent(count => api.delete(`/products/${count}`))).toBeLessThanOrEqual(5)
})
