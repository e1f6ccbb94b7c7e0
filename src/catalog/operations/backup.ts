import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from 'node:fs'
import type { CommandLine } from '../../config.ts'
import { database } from '../../database/settings.ts'
import type { SqliteDatabase } from '../../database/sqlite/database.ts'
import { openExistingSqlite } from '../../database/sqlite/open.ts'
import { errorMessage } from '../../error-message.ts'
import { OperatorError, SettingError } from '../../operator-error.ts'
import { catalogMigrations } from '../migrations/index.ts'

export async function backup(line: CommandLine): Promise<void> {
  const [file] = line.operands
  if (file === undefined) throw new SettingError('backup takes one FILE to write to')
  const address = line.value(database)
  if (address.engine !== 'sqlite') throw new SettingError('backup works on SQLite only; for PostgreSQL use pg_dump')
  const { path } = address
  if (existsSync(file)) throw new OperatorError(`${file} is there already; a backup overwrites nothing`)
  await using store = openExistingSqlite(path, [catalogMigrations])
  writeCopy(store, file)
  process.stdout.write(`${file} holds the database as it was when the copy began\n`)
}

/** Under another name until it is whole and on the disk: what has the name FILE is always a complete backup. */
function writeCopy(store: SqliteDatabase, file: string): void {
  const partial = `${file}.${crypto.randomUUID()}.partial`
  try {
    closeSync(openSync(partial, 'wx', 0o600))
    store.copyInto(partial)
    const descriptor = openSync(partial, 'r+')
    fsyncSync(descriptor)
    closeSync(descriptor)
    giveName(partial, file)
  } catch (error) {
    throw new OperatorError(`cannot write the backup ${file}: ${errorMessage(error)}`)
  } finally {
    rmSync(partial, { force: true })
  }
}

/** Renaming would overwrite what another backup has made meanwhile; a second name for the same file does not. */
function giveName(partial: string, file: string): void {
  try {
    linkSync(partial, file)
  } catch (error) {
    // Some file systems, as those of memory sticks, know one name for a file.
    if (existsSync(file)) throw error
    renameSync(partial, file)
  }
}
