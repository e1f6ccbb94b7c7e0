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
  if (existsSync(file)) throw new OperatorError(`${file} already exists; a backup overwrites nothing`)
  await using store = openExistingSqlite(path, [catalogMigrations])
  writeCopy(store, file)
  process.stdout.write(`${file} holds the database as it was when the copy began\n`)
}

/** Writes under another name until the copy is complete and on the disk, so a file named FILE is always a complete backup. */
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

/** Uses a hard link, because renaming would overwrite a file that another backup has just made. */
function giveName(partial: string, file: string): void {
  try {
    linkSync(partial, file)
  } catch (error) {
    // Some file systems, such as those of memory sticks, have no hard links.
    if (existsSync(file)) throw error
    renameSync(partial, file)
  }
}
