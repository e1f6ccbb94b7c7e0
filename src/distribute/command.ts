import { database, POSTGRES_NOTE } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import type { Command } from '../program/command.ts'

/** The command that spreads the tables of these parts over the servers of Citus. */
export function distributeCommand(loadStorages: () => Promise<readonly Storage[]>): Command {
  return {
    name: 'distribute',
    summary: 'Spread the tables of a PostgreSQL database over the workers of Citus; all or nothing.',
    settings: [{ ...database, meaning: 'the database: postgres://…' }],
    note: `Stop everything that uses the database first: it refuses while servers are connected. It says what it will do and
about how long that takes, and then begins; Ctrl-C leaves everything as it was.

${POSTGRES_NOTE}`,
    run: async line => (await import('./distribute.ts')).distribute(line, await loadStorages()),
  }
}
