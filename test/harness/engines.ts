import { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SQL } from 'bun'
import { citusUrl, createCitusDatabase } from './postgres/citus.ts'
import { connected, createDatabase } from './postgres/database.ts'
import { sharedServerUrl } from './postgres/shared-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

export interface Engine {
  readonly name: string
  /** Creates an empty database for one service. */
  readonly freshDatabase: () => Promise<AsyncDisposable & { readonly url: string }>
  /** Queries the database directly, past the service. */
  readonly read: <Row>(url: string, sql: string) => Promise<Row[]>
  /** Changes the database directly, past the service. */
  readonly write: (url: string, sql: string) => Promise<void>
  /** All text in the database. */
  readonly everything: (url: string) => Promise<string>
}

export const sqlite: Engine = {
  name: 'SQLite',
  freshDatabase: async () => {
    const folder = temporaryFolder()
    return {
      url: `sqlite:${join(folder.path, 'shop.db')}`,
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  },
  read: async <Row>(url: string, sql: string) => {
    using file = new Database(pathOf(url), { readonly: true })
    return file.query<Row, []>(sql).all()
  },
  write: async (url, sql) => {
    using file = new Database(pathOf(url))
    file.run('PRAGMA busy_timeout = 10000')
    file.run('PRAGMA foreign_keys = ON')
    file.run(sql)
  },
  everything: async url => {
    const path = pathOf(url)
    const files = [path, `${path}-wal`].filter(file => existsSync(file))
    return (await Promise.all(files.map(file => Bun.file(file).text()))).join('')
  },
}

/** The connection that was read over last. It stays open: to open one for each read takes 10 ms, and some tests read again and again. */
let kept: { readonly url: string; readonly sql: SQL } | null = null

export const postgres: Engine = {
  name: 'PostgreSQL',
  freshDatabase: async () => createDatabase(await sharedServerUrl()),
  read: async (url, sql) => {
    if (kept?.url === url) {
      try {
        return [...(await kept.sql.unsafe(sql))]
      } catch {
        // Its server may have restarted since then.
      }
    }
    const opened = { url, sql: connected(url) }
    const last = kept
    kept = opened
    await last?.sql.close()
    return [...(await opened.sql.unsafe(sql))]
  },
  write: async (url, sql) => {
    await using database = connected(url)
    await database.unsafe(sql)
  },
  everything: async url => {
    await using database = connected(url)
    const tables = await database<{ name: string }[]>`
      SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
    const texts = tables.map(async ({ name }) => JSON.stringify(await database.unsafe(`SELECT * FROM ${name}`)))
    return (await Promise.all(texts)).join('')
  },
}

const coordinator = citusUrl()

/** `null` if there is no cluster to test with. */
export const citus: Engine | null =
  coordinator === null
    ? null
    : {
        ...postgres,
        name: 'Citus',
        freshDatabase: () => createCitusDatabase(coordinator),
      }

function pathOf(url: string): string {
  return url.slice('sqlite:'.length)
}

/** All engines; they must answer alike. */
export const ENGINES: readonly Engine[] = [sqlite, postgres, ...(citus ? [citus] : [])]
