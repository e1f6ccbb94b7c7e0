import { expect, setDefaultTimeout, test } from 'bun:test'
import { z } from 'zod'
import { type Answer, type Client, client } from '../../../test/harness/client.ts'
import { backendsOf, pauseBackends } from '../../../test/harness/postgres/backends.ts'
import { createDatabase } from '../../../test/harness/postgres/database.ts'
import { sharedServerUrl } from '../../../test/harness/postgres/shared-server.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startService } from '../../../test/harness/service.ts'
import { until } from '../../../test/harness/until.ts'

/** PostgreSQL does what it has received from a node, even if the node has died in the meantime. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

/** Enough updates at once that each connection of a node has prepared the statement. */
const UPDATES = 200

/** Time for a node to send a statement. If it takes longer, the test tries again. */
const SENT_WITHIN_MS = 200

const BEFORE = 1
const LATE = 2
const AFTER = 3

const Priced = z.object({ price: z.number() })

test('an update of a node that has died may be done after a later one, but not if it expects the version before', async () => {
  await using database = await createDatabase(await sharedServerUrl())
  await using service = await startService(database.url, { flags: FLAGS })
  const api = client(() => service.address)
  const plain = await api.create('/products/', sample.product)
  const careful = await api.create('/products/', sample.product)

  await until(async () => {
    await using dying = await startService(`${database.url}?application_name=dying`, { flags: FLAGS })
    const other = client(() => dying.address)
    await Promise.all(Array.from({ length: UPDATES }, () => update(other, plain, BEFORE)))
    const tag = (await update(other, careful, BEFORE)).headers.get('ETag') ?? ''
    {
      using paused = await pauseBackends(database.url, 'dying')
      expect(paused.count).toBeGreaterThan(0)
      const lost = Promise.allSettled([update(other, plain, LATE), update(other, careful, LATE, tag)])
      await Bun.sleep(SENT_WITHIN_MS)
      await dying.stop('SIGKILL')
      expect((await lost).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      for (const id of [plain, careful]) expect((await update(api, id, AFTER)).status).toBe(200)
    }
    await until(async () => (await backendsOf(database.url, 'dying')).length === 0)
    expect(await priceOf(api, careful)).toBe(AFTER)
    return (await priceOf(api, plain)) === LATE
  })
})

function update(api: Client, id: number, price: number, ifMatch?: string): Promise<Answer> {
  return api.send(`/products/${id}`, {
    method: 'PUT',
    headers: {
      'Content-Type': 'application/json',
      Connection: 'close',
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
    },
    body: JSON.stringify({ ...sample.product, price }),
  })
}

async function priceOf(api: Client, id: number): Promise<number> {
  return Priced.parse((await api.get(`/products/${id}`)).body).price
}
