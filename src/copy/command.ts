import type { Command } from '../command.ts'
import type { Storage } from '../part.ts'

/** The command that copies what these parts store. */
export function copyCommand(storages: readonly Storage[]): Command {
  return {
    name: 'copy',
    operands: 'FROM TO',
    summary: 'Copy a whole database into an empty one, of the same or the other engine: all of it, or nothing.',
    settings: [],
    note: `Write FROM and TO as DATABASE_URL: sqlite:PATH, or postgres://user:password@host:5432/database. A PostgreSQL
address without a password takes it from DATABASE_PASSWORD, or from the file that DATABASE_PASSWORD_FILE names.
Servers may go on using FROM; what they write after the copy has begun is not copied.`,
    run: async line => (await import('./copy.ts')).copy(line, storages),
  }
}
