import { sqliteDatabase } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import type { Command } from '../program/command.ts'

export const backupCommand: Command = {
  name: 'backup',
  operands: 'FILE',
  summary: 'Copy the SQLite database into FILE, consistently, while servers keep reading and writing.',
  settings: [sqliteDatabase],
  run: async line => (await import('./backup.ts')).backup(line),
}

/** The command that puts a backup in place of a database, which may have the tables of these parts. */
export function restoreCommand(loadStorages: () => Promise<readonly Storage[]>): Command {
  return {
    name: 'restore',
    operands: 'FILE',
    summary:
      'Put a copy of the backup FILE in place of the SQLite database, which nothing may have open, and keep the old one.',
    settings: [sqliteDatabase],
    run: async line => (await import('./restore.ts')).restore(line, await loadStorages()),
  }
}
