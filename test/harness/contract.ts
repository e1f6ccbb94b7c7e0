import { afterAll, beforeAll, describe, test } from 'bun:test'
import { resolve } from 'node:path'
import { type Client, client } from './client.ts'
import { citus, ENGINES, type Engine, sqlite } from './engines.ts'
import { citusUrl } from './postgres/citus.ts'
import { startService } from './service.ts'

/** The environment of a service that hashes passwords quickly: most tests with users need no hash that takes 40 ms. */
export const QUICK_HASHES = { BUN_OPTIONS: `"--preload=${resolve(import.meta.dir, 'quick-hashes.ts')}"` }

/** Flags of a service that reads everything from its database. */
export const WITHOUT_CACHE = ['--cache-bytes', '0']

/** Runs tests with each engine. */
export function withEachEngine(subject: string, tests: (engine: Engine) => void): void {
  for (const engine of ENGINES) describe(`${subject}, on ${engine.name}`, () => tests(engine))
  countSkippedOnCitus()
}

/** Runs tests that need a cluster of Citus, at the address of its coordinator. */
export function onCitus(subject: string, tests: (coordinatorUrl: string) => void): void {
  const url = citusUrl()
  if (url === null) countSkippedOnCitus()
  else describe(subject, () => tests(url))
}

let isSkippedCounted = false

/** Counts the tests of a file that need a cluster as one, if there is none. */
export function countSkippedOnCitus(): void {
  if (citus || isSkippedCounted) return
  isSkippedCounted = true
  test.skip('the tests on Citus, which need STOCKROOM_TEST_CITUS', () => {})
}

/** Runs tests against their own service on each engine, and on SQLite without a cache too. `api` is ready when a test runs. */
export function onEachEngine(subject: string, tests: (api: Client, engine: Engine) => void): void {
  withEachEngine(subject, engine => onService(engine, [], tests))
  describe(`${subject}, on ${sqlite.name} without a cache`, () => onService(sqlite, WITHOUT_CACHE, tests))
}

/** Runs tests against SQLite only, for features that do not touch the database. */
export function onOneEngine(subject: string, tests: (api: Client) => void): void {
  describe(subject, () => onService(sqlite, [], tests))
}

function onService(engine: Engine, flags: readonly string[], tests: (api: Client, engine: Engine) => void): void {
  const open = new AsyncDisposableStack()
  let address = ''
  beforeAll(async () => {
    const database = open.use(await engine.freshDatabase())
    const service = open.use(
      await startService(database.url, { flags: ['--access-log', 'off', ...flags], environment: QUICK_HASHES }),
    )
    address = service.address
  })
  afterAll(() => open.disposeAsync())
  tests(
    client(() => address),
    engine,
  )
}
