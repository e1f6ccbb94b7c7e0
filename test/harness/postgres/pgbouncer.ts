import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn } from 'bun'
import { freePort } from '../free-port.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { startGuard } from './guard.ts'
import { databaseUser } from './programs.ts'
import { type PostgresServer, urlAt } from './server.ts'

/** Debian's PgBouncer, if it is installed; it is not on every user's path. */
export const pgbouncerPath = Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` })

export interface PgBouncer extends AsyncDisposable {
  readonly url: (database: string) => string
  readonly log: () => string
}

/** Starts PgBouncer in transaction mode: each transaction gets any free connection, and there are no sessions. */
export async function startPgBouncer(
  path: string,
  server: PostgresServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<PgBouncer> {
  const folder = temporaryFolder().path
  chmodSync(folder, 0o777)
  const port = await freePort()
  const { username, password } = new URL(server.url())
  const file = (name: string) => join(folder, name)
  writeFileSync(file('users'), `"${username}" "${decodeURIComponent(password)}"\n`)
  const parameters = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'scram-sha-256',
    auth_file: file('users'),
    pidfile: file('process'),
    pool_mode: 'transaction',
    ...settings,
  }
  const lines = Object.entries(parameters).map(([name, value]) => `${name} = ${value}`)
  writeFileSync(
    file('settings'),
    ['[databases]', `* = host=127.0.0.1 port=${server.port}`, '[pgbouncer]', ...lines, ''].join('\n'),
  )
  const guard = startGuard(folder, file('process'))
  const log = () => readFileSync(file('log'), 'utf8')
  const child = spawn([path, file('settings')], {
    ...databaseUser,
    cwd: '/',
    stdin: 'ignore',
    stdout: Bun.file(file('log')),
    stderr: Bun.file(file('log')),
  })
  child.unref()
  await until(() => {
    if (child.exitCode !== null) throw new Error(`PgBouncer did not start: ${log()}`)
    return log().includes('process up')
  })
  return {
    url: database => urlAt(port, database),
    log,
    [Symbol.asyncDispose]: async () => {
      guard.stdin.end()
      await guard.exited
      await child.exited
    },
  }
}
