import { database, POSTGRES_NOTE } from '../database/settings.ts'
import type { Storage } from '../part.ts'
import type { Command } from '../program/command.ts'
import { scope } from './settings.ts'

export const keyCommand: Command = {
  name: 'key',
  operands: 'create|list|revoke [NAME]',
  summary: 'Create, list and revoke access keys, while servers run.',
  settings: [database, scope],
  note: `stockroom key create NAME --scope read|write|admin prints the new key, which is shown only this once.
stockroom key list shows the names and scopes of all keys. stockroom key revoke NAME deletes a key: servers refuse it
within a second. A name has up to 64 letters, digits, dots, underscores and hyphens.

${POSTGRES_NOTE}`,
  run: async line => (await import('./keys.ts')).manageKeys(line),
}

export const loadAccessStorage = async (): Promise<Storage> => (await import('./tables.ts')).accessStorage
