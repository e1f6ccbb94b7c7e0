import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fillTables } from '../database/bulk.ts'
import { historyOf } from '../database/history.ts'
import { openDatabase } from '../database/open.ts'
import { type DatabaseAddress, databaseOperand } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import type { CommandLine } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'
import { progress } from '../program/progress.ts'
import { transfer } from './transfer.ts'

export async function copy({ operands }: CommandLine, storages: readonly Storage[]): Promise<void> {
  const [from, to] = operands
  if (from === undefined || to === undefined) throw new SettingError('copy takes two databases, FROM and TO')
  const source = databaseOperand('FROM', from)
  const target = databaseOperand('TO', to)
  if (isSameDatabase(source, target)) throw new SettingError('FROM and TO are the same database')
  const migrations = storages.map(storage => storage.migrations)
  const tables = storages.flatMap(storage => storage.tables)
  await using sourceDatabase = await openDatabase({ address: source }, migrations, { mustExist: true })
  await using targetDatabase = await openDatabase({ address: target }, migrations)
  await historyOf(targetDatabase).begin()
  const shown = progress()
  const copied = await fillTables(targetDatabase, tables, (target, log) =>
    transfer(sourceDatabase, { target, log }, tables, shown),
  )
  for (const { complete } of storages) await complete?.(targetDatabase, shown)
  const counts = copied.map(({ name, rows }) => `${rows} ${name}`)
  print(`Copied and compared: ${counts.join(', ')}\n`)
}

/** Compares addresses only: two names of one server count as two databases. */
function isSameDatabase(one: DatabaseAddress, other: DatabaseAddress): boolean {
  if (one.engine === 'sqlite' && other.engine === 'sqlite') return fileIdentity(one.path) === fileIdentity(other.path)
  return one.engine === 'postgres' && other.engine === 'postgres' && one.place === other.place
}

/** The same for every path to a file, also through links. */
function fileIdentity(path: string): string {
  if (!existsSync(path)) return resolve(path)
  const { dev, ino } = statSync(path)
  return `${dev}:${ino}`
}
