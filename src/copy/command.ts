import type { Storage } from '../part.ts'
import type { Command } from '../program/command.ts'

/** The command that copies the tables of these parts. */
export function copyCommand(storages: readonly (() => Promise<Storage>)[]): Command {
  return {
    name: 'copy',
    operands: 'FROM TO',
    summary: 'Copy a whole database into an empty one, on the same or the other engine; all or nothing.',
    settings: [],
    note: `FROM and TO are written like DATABASE_URL: sqlite:PATH, or postgres://user:password@host:5432/database. If a
PostgreSQL address has no password, it is read from DATABASE_PASSWORD or from the file that DATABASE_PASSWORD_FILE
names. Servers may keep using FROM; changes after the copy has begun are not copied.`,
    run: async line => (await import('./copy.ts')).copy(line, await Promise.all(storages.map(load => load()))),
  }
}
