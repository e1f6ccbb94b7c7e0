import { SHARED_SERVER_VARIABLE } from './database.ts'
import { PostgresServer } from './server.ts'

/** Enough for the services of all test files that run at the same time. */
const CONNECTIONS = '500'

let own: Promise<PostgresServer> | null = null

/** A server that many tests share, each with its own databases. */
export function startSharedServer(): Promise<PostgresServer> {
  return PostgresServer.start({ settings: { max_connections: CONNECTIONS } })
}

/** The address of the shared server. A test file that runs alone starts one, which ends with its process. */
export async function sharedServerUrl(): Promise<string> {
  const shared = process.env[SHARED_SERVER_VARIABLE]
  if (shared !== undefined) return shared
  own ??= startSharedServer()
  return (await own).url()
}
