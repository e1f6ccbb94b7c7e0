import { connected } from './database.ts'

interface Paused extends Disposable {
  readonly count: number
}

/**
 * Pauses the processes of PostgreSQL that serve one client, by its `application_name`, until the result is disposed of. They
 * still do everything that it has sent, only later, even if the client has died.
 */
export async function pauseBackends(url: string, applicationName: string): Promise<Paused> {
  const backends = await backendsOf(url, applicationName)
  for (const backend of backends) process.kill(backend, 'SIGSTOP')
  const count = backends.length
  return {
    count,
    [Symbol.dispose]: () => {
      for (const backend of backends.splice(0)) process.kill(backend, 'SIGCONT')
    },
  }
}

/** The ids of the processes that serve a client. */
export async function backendsOf(url: string, applicationName: string): Promise<number[]> {
  await using sql = connected(url)
  const backends = await sql<{ pid: number }[]>`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${applicationName}`
  return backends.map(({ pid }) => pid)
}
