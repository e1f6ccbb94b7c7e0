import { chmodSync, closeSync, openSync, readFileSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SQL, spawn } from 'bun'
import { freePort } from '../free-port.ts'
import { childrenOf } from '../process-tree.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { until } from '../until.ts'
import { connected } from './database.ts'
import { type Guard, startGuard } from './guard.ts'
import { databaseUser, postgresHome, runAsDatabaseUser } from './programs.ts'

/** A superuser with a password, as on a real server. */
const USER = 'stockroom'
const PASSWORD = 'a secret of the tests'

/** A file system in memory, if there is one, and the space that a server needs there. */
const MEMORY = '/dev/shm'
const MEMORY_FREE_BYTES = 2_147_483_648

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  // In the data folder, so a killed server leaves nothing behind.
  dynamic_shared_memory_type: 'mmap',
  wal_keep_size: '128MB',
}

/**
 * The variable in which `npm test` passes a folder that `initdb` has filled. A server that copies it starts with a tenth of the
 * processor time.
 */
export const INITIALIZED_DATA_VARIABLE = 'STOCKROOM_TEST_POSTGRES_DATA'

/**
 * Without fsync: faster, and a test need not survive a power failure. Without autovacuum: it would visit each of hundreds of
 * databases, and most are dropped before it pays off.
 */
const FORGETFUL = { fsync: 'off', full_page_writes: 'off', max_wal_size: '256MB', autovacuum: 'off' }

export interface ServerOptions {
  /** Whether commits are written to a disk before they are acknowledged, as in production. */
  readonly durable?: boolean
  /** The parent of its folder, in place of the system's temporary folder. */
  readonly directory?: string
  /** Parameters of PostgreSQL's configuration, by name. */
  readonly settings?: Readonly<Record<string, string>>
  /** Fills the folder `data` of a new server, in place of `initdb`. */
  readonly data?: (data: string) => Promise<void>
}

/**
 * A real PostgreSQL server with its own data folder, on a free loopback port.
 *
 * A guard process stops it and removes its folder when it is disposed of, or when the test process
 * ends, however it ends.
 */
export class PostgresServer implements AsyncDisposable {
  readonly port: number
  /** The folder with its data, log and settings. */
  readonly folder: string
  readonly #home: string
  readonly #settings: Record<string, string>
  readonly #guard: Guard
  #process: ReturnType<typeof spawn> | null = null
  #paused: number[] = []
  #connection: SQL | null = null

  private constructor(folder: string, home: string, port: number, settings: Readonly<Record<string, string>>) {
    this.folder = folder
    this.port = port
    this.#home = home
    this.#settings = { ...SETTINGS, ...settings }
    this.#guard = startGuard(folder, join(folder, 'data/postmaster.pid'))
  }

  /** Creates a server and starts it. */
  static async start({ durable = false, directory, settings = {}, data }: ServerOptions = {}): Promise<PostgresServer> {
    const folder = temporaryFolder(directory ?? (durable ? undefined : folderInMemory())).path
    // Its user works only in `data`, but must be able to reach it.
    chmodSync(folder, 0o777)
    const server = new PostgresServer(folder, postgresHome(folder), await freePort(), {
      ...(durable ? {} : FORGETFUL),
      ...settings,
    })
    try {
      await (data ?? (path => initialize(server.#home, folder, path)))(server.data)
      await server.start()
      return server
    } catch (error) {
      await server[Symbol.asyncDispose]()
      throw error
    }
  }

  get data(): string {
    return join(this.folder, 'data')
  }

  url(database = 'postgres'): string {
    return urlAt(this.port, database)
  }

  /** Its log so far. */
  log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8')
  }

  /** Starts it on the same port and data and waits until it accepts connections. */
  async start(): Promise<void> {
    const settings = Object.entries({ ...this.#settings, port: this.port }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ])
    const log = openSync(join(this.folder, 'log'), 'a')
    const child = spawn([join(this.#home, 'bin/postgres'), '-D', this.data, ...settings], {
      ...databaseUser,
      cwd: '/',
      stdin: 'ignore',
      stdout: log,
      stderr: log,
    })
    closeSync(log)
    child.unref()
    this.#process = child
    await until(() => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${this.log()}`)
      return this.#status() === 'ready' || this.#status() === 'standby'
    })
  }

  /**
   * `fast` rolls back transactions, closes connections and writes everything to disk; `immediate` acts like a crash,
   * so the next start recovers from the log.
   */
  async stop(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.#disconnect()
    this.#process?.kill(mode === 'fast' ? 'SIGINT' : 'SIGQUIT')
    await this.#process?.exited
  }

  async restart(mode: 'fast' | 'immediate' = 'fast'): Promise<void> {
    await this.stop(mode)
    await this.start()
  }

  /** Pauses all its processes: connections stay open, and nothing answers. */
  pause(): void {
    const server = this.#process?.pid
    if (server === undefined) throw new Error('the server does not run')
    // The parent first, so that it starts no more children.
    process.kill(server, 'SIGSTOP')
    const children = childrenOf(server)
    for (const child of children) process.kill(child, 'SIGSTOP')
    this.#paused = [...children, server]
  }

  resume(): void {
    for (const id of this.#paused.splice(0)) process.kill(id, 'SIGCONT')
  }

  /** Cuts all client connections, as an administrator does, and returns how many. */
  async cutConnections(): Promise<number> {
    const [{ count } = { count: 0 }] = await this.ask<{ count: number }>(
      (sql: SQL) => sql`
        SELECT count(pg_terminate_backend(pid))::int AS count FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    )
    return count
  }

  /** Queries the server over a connection of its own, which stays open, because to open one for each question takes 10 ms. */
  async ask<Row>(question: (sql: SQL) => PromiseLike<Row[]>): Promise<Row[]> {
    this.#connection ??= connected(this.url())
    try {
      return await question(this.#connection)
    } catch (error) {
      await this.#disconnect()
      throw error
    }
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    this.#connection = null
    await connection?.close({ timeout: 0 })
  }

  /** Changes a parameter of the running server. */
  async set(name: string, value: string): Promise<void> {
    await this.ask(sql => sql.unsafe(`ALTER SYSTEM SET ${name} = '${value}'`))
    await this.ask(sql => sql`SELECT pg_reload_conf()`)
    const isSet = async () => {
      const [row] = await this.ask<Record<string, string>>(sql => sql.unsafe(`SHOW ${name}`))
      return row?.[name] === value
    }
    await until(isSet)
  }

  /** The status in PostgreSQL's lock file, such as `ready`. */
  #status(): string {
    try {
      return readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim() ?? ''
    } catch {
      return ''
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume()
    await this.#disconnect()
    this.#guard.stdin.end()
    await this.#guard.exited
    await this.#process?.exited
  }
}

function folderInMemory(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= MEMORY_FREE_BYTES ? MEMORY : undefined
  } catch {
    return undefined
  }
}

/** The address of a database at a loopback port, with the user and password of all test servers. */
export function urlAt(port: number, database: string): string {
  return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`
}

/** Lets `initdb` fill a folder inside `folder`, for servers to copy, and returns its path. */
export async function initializedData(folder: string): Promise<string> {
  // Its user works only in `data`, but must be able to reach it.
  chmodSync(folder, 0o777)
  const data = join(folder, 'data')
  await initialize(postgresHome(folder), folder, data)
  return data
}

async function initialize(home: string, folder: string, data: string): Promise<void> {
  const initialized = process.env[INITIALIZED_DATA_VARIABLE]
  if (initialized !== undefined) return runAsDatabaseUser(['cp', '-R', '-p', initialized, data])
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, PASSWORD)
  await makeOwnFolder(data)
  await runAsDatabaseUser([
    join(home, 'bin/initdb'),
    ...['--pgdata', data, '--username', USER, '--pwfile', passwordFile],
    // SCRAM takes a client 2 ms for each connection, and a service opens nine. connection.test.ts tests it.
    ...['--auth', 'md5', '--encoding', 'UTF8', '--no-locale'],
    ...['--no-sync', '--no-instructions'],
  ])
}

/** An empty folder that only the database's user may access, as PostgreSQL requires. */
async function makeOwnFolder(path: string): Promise<void> {
  await runAsDatabaseUser(['mkdir', '-m', '700', path])
}
