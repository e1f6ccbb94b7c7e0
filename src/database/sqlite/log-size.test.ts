import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout, test } from 'bun:test'
import { truncateSync } from 'node:fs'
import { scrape, WITH_METRICS } from '../../../test/harness/metrics.ts'
import { sample } from '../../../test/harness/samples.ts'
import { startShop } from '../../../test/harness/shop.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const LONG_LOG_BYTES = 1_100_000_000

const LOOK_INTERVAL_MS = 1_001

test('a log that a reader holds shows in the metrics, and at 1 GiB one line names the reader, again only after it has shrunk', async () => {
  await using shop = await startShop({ flags: WITH_METRICS })
  const { api, file, service } = shop
  const create = () => api.create('/products/', sample.product)
  const warnings = () => service.errors().match(/-wal has \d+ bytes.*/g) ?? []
  const logBytes = async () => (await scrape(service)).value('stockroom_sqlite_log_bytes')
  await create()
  expect(await logBytes()).toBeWithin(1, 1_000_000)
  using reader = new Database(file)
  const lengthen = () => {
    reader.run('BEGIN')
    reader.run('SELECT count(*) FROM products')
    // SQLite reads only the beginning that has been written.
    truncateSync(`${file}-wal`, LONG_LOG_BYTES)
  }
  lengthen()
  expect(await logBytes()).toBe(LONG_LOG_BYTES)
  await until(async () => (await create()) > 0 && warnings().length > 0)
  expect(warnings()[0]).toContain(process.platform === 'linux' ? `process ${process.pid} (` : 'does not tell')
  // The size is looked at once a second, and is as long as before.
  await Bun.sleep(LOOK_INTERVAL_MS)
  await create()
  reader.run('COMMIT')
  reader.run('PRAGMA wal_checkpoint(TRUNCATE)')
  await Bun.sleep(LOOK_INTERVAL_MS)
  await create()
  expect(await logBytes()).toBeLessThan(10_000_000)
  expect(warnings()).toHaveLength(1)
  lengthen()
  await until(async () => (await create()) > 0 && warnings().length > 1)
  expect(warnings()).toHaveLength(2)
})
