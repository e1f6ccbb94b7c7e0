import { chmodSync, copyFileSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { database } from '../database/settings.ts'
import { unusable } from '../database/sqlite/failure.ts'
import { mustBeUsable } from '../database/sqlite/migrate.ts'
import { UnusedFile } from '../database/sqlite/unused-file.ts'
import type { Storage } from '../part.ts'
import type { CommandLine } from '../program/config.ts'
import { withPartial } from '../program/new-file.ts'
import { OperatorError, SettingError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'

/** Puts a copy of a backup in place of the database, and keeps the old one under another name. */
export async function restore(line: CommandLine, storages: readonly Storage[]): Promise<void> {
  const [backup] = line.operands
  if (backup === undefined) throw new SettingError('restore takes one FILE, a backup')
  const address = line.value(database)
  if (address.engine !== 'sqlite') throw new SettingError('restore works on SQLite only; for PostgreSQL use pg_restore')
  mustBeClosed(backup)
  using old = placeFor(address.path)
  await withPartial(old.path, partial => {
    copyFileSync(backup, partial)
    // The copy of a file that nobody may write to could not be checked.
    chmodSync(partial, 0o600)
    mustBeUsable(
      partial,
      storages.map(({ migrations }) => migrations),
      backup,
    )
    const kept = old.replaceWith(partial)
    print(`${address.path} is now the database of ${backup}\n`)
    if (kept !== null) print(`The database before is kept as ${kept}\n`)
  })
}

function placeFor(path: string): UnusedFile {
  try {
    mkdirSync(dirname(path), { recursive: true })
    return new UnusedFile(path)
  } catch (error) {
    throw unusable(error, path)
  }
}

/** A copy of the file alone would lack what is in a log beside it, which is not beside a link to it. */
function mustBeClosed(backup: string): void {
  try {
    if (!statSync(backup).isFile()) throw new OperatorError(`${backup} is not a file`)
  } catch (error) {
    throw unusable(error, backup)
  }
  const log = statSync(`${realpathSync(backup)}-wal`, { throwIfNoEntry: false })
  if (log && log.size > 0) {
    throw new OperatorError(
      `${backup} has a log beside it, so it is in use or was; make a backup of it, and restore that`,
    )
  }
}
