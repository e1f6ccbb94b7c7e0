import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from '../command.ts'
import { type DatabaseAddress, databaseOperand, readCommandLine } from '../config.ts'
import { openDatabase, openExistingDatabase, type StoreDatabase } from '../database/open.ts'
import { SettingError } from '../operator-error.ts'
import { progress } from '../terminal/progress.ts'
import { postgresStore } from './postgres.ts'
import { sqliteStore } from './sqlite.ts'
import type { Store } from './store.ts'
import { transfer } from './transfer.ts'

export const copy: Command = {
  name: 'copy',
  operands: 'FROM TO',
  summary: 'Copy all that a database holds into an empty one, also of the other kind: all of it, or nothing.',
  settings: [],
  note: `FROM and TO are written as DATABASE_URL is: sqlite:PATH, or postgres://user:password@host:5432/database. Where one
of PostgreSQL has no password, it is taken from DATABASE_PASSWORD, or from the file that DATABASE_PASSWORD_FILE names.
Servers may go on with FROM; what they write after the copy has begun is not in it.`,
  run: async argv => {
    const { operands } = readCommandLine(argv, copy.settings, copy.operands)
    const [from, to] = operands
    if (from === undefined || to === undefined) throw new SettingError('copy takes two databases, FROM and TO')
    const source = databaseOperand('FROM', from)
    const target = databaseOperand('TO', to)
    if (isSame(source, target)) throw new SettingError('FROM and TO are the same database')
    await using full = await openExistingDatabase(source)
    await full.ready
    await using empty = await openDatabase({ address: target, replicas: [], connections: 1 })
    await empty.ready
    const moved = await transfer(storeOf(full), storeOf(empty), progress())
    const counts = moved.map(({ name, rows }) => `${rows} ${name}`)
    process.stdout.write(`Copied and compared: ${counts.join(', ')}\n`)
  },
}

function storeOf(database: StoreDatabase): Store {
  return database.engine === 'sqlite' ? sqliteStore(database) : postgresStore(database)
}

/** As far as their addresses tell. */
function isSame(one: DatabaseAddress, other: DatabaseAddress): boolean {
  if (one.engine === 'sqlite' && other.engine === 'sqlite') return fileOf(one.path) === fileOf(other.path)
  return one.engine === 'postgres' && other.engine === 'postgres' && one.place === other.place
}

/** What tells a file from others, by whatever path it is reached. */
function fileOf(path: string): string {
  if (!existsSync(path)) return resolve(path)
  const { dev, ino } = statSync(path)
  return `${dev}:${ino}`
}
