import { afterAll, beforeAll, describe } from 'bun:test'
import { type Client, client } from './client.ts'
import { ENGINES, type Engine } from './engines.ts'
import { startService } from './service.ts'

/** Runs tests with each engine. */
export function withEachEngine(subject: string, tests: (engine: Engine) => void): void {
  for (const engine of ENGINES) describe(`${subject}, on ${engine.name}`, () => tests(engine))
}

/** Runs tests against a service of their own on each engine. `api` is ready when a test runs. */
export function onEachEngine(subject: string, tests: (api: Client) => void): void {
  withEachEngine(subject, engine => {
    const open = new AsyncDisposableStack()
    let address = ''
    beforeAll(async () => {
      const database = open.use(await engine.freshDatabase())
      const service = open.use(await startService(database.url, { flags: ['--access-log', 'off'] }))
      address = service.address
    })
    afterAll(() => open.disposeAsync())
    tests(client(() => address))
  })
}
