import { POSTGRES_NOTE } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import type { Command } from '../program/command.ts'

/** The command that copies the tables of these parts. */
export function copyCommand(loadStorages: () => Promise<readonly Storage[]>): Command {
  return {
    name: 'copy',
    operands: 'FROM TO',
    summary: 'Copy a whole database into an empty one, on the same or the other engine; all or nothing.',
    settings: [],
    note: `FROM and TO are written like DATABASE_URL: sqlite:PATH, or postgres://user:password@host:5432/database.
Servers may keep using FROM; changes after the copy has begun are not copied.

${POSTGRES_NOTE}`,
    run: async line => (await import('./copy.ts')).copy(line, await loadStorages()),
  }
}
