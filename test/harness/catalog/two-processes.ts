import { afterAll, beforeAll } from 'bun:test'
import { join } from 'node:path'
import { type Client, client } from '../client.ts'
import { QUICK_HASHES } from '../contract.ts'
import { type Service, startService } from '../service.ts'
import { temporaryFolder } from '../temporary-folder.ts'

interface TwoProcesses {
  readonly one: Client
  readonly other: Client
  /** The path of the database, once the services have started. */
  readonly file: () => string
}

/** Two services on one SQLite file, for the tests of the `describe` in which this is called. */
export function twoProcesses(): TwoProcesses {
  const open = new AsyncDisposableStack()
  const services: Service[] = []
  let file = ''
  beforeAll(async () => {
    file = join(open.use(temporaryFolder()).path, 'shop.db')
    for (let count = 0; count < 2; count += 1) {
      services.push(
        open.use(await startService(`sqlite:${file}`, { flags: ['--access-log', 'off'], environment: QUICK_HASHES })),
      )
    }
  })
  afterAll(() => open.disposeAsync())
  const clientOf = (place: number) => client(() => services[place]?.address ?? '')
  return { one: clientOf(0), other: clientOf(1), file: () => file }
}
