import { closeSync, openSync } from 'node:fs'
import { database } from '../database/settings.ts'
import { openSqlite } from '../database/sqlite/open.ts'
import type { CommandLine } from '../program/config.ts'
import { mustBeNew, syncToDisk, writeNew } from '../program/new-file.ts'
import { SettingError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'

export async function backup(line: CommandLine): Promise<void> {
  const [file] = line.operands
  if (file === undefined) throw new SettingError('backup takes one FILE to write to')
  const address = line.value(database)
  if (address.engine !== 'sqlite') throw new SettingError('backup works on SQLite only; for PostgreSQL use pg_dump')
  const { path } = address
  mustBeNew(file)
  await using store = await openSqlite(path, [], { mustExist: true })
  await writeNew(file, partial => {
    closeSync(openSync(partial, 'wx', 0o600))
    store.copyInto(partial)
    syncToDisk(partial, 'r+')
  })
  print(`${file} holds the database as it was when the copy began\n`)
}
