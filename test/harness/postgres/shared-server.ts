import { PostgresServer } from './server.ts'

/** Where the run of all tests says that it has started a server for each of them. */
export const SHARED_SERVER_VARIABLE = 'STOCKROOM_TEST_POSTGRES'

/** Enough for the services of all test files that run at once. */
const CONNECTIONS = '500'

let own: Promise<PostgresServer> | null = null

/** A server that many tests share, each with databases of its own. */
export function startSharedServer(): Promise<PostgresServer> {
  return PostgresServer.start({ settings: { max_connections: CONNECTIONS } })
}

/** The address of the run's shared server; a test file that is run alone starts one, which ends with its process. */
export async function sharedServerUrl(): Promise<string> {
  const shared = process.env[SHARED_SERVER_VARIABLE]
  if (shared !== undefined) return shared
  own ??= startSharedServer()
  return (await own).url()
}
