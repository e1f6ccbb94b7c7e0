import type { Command } from '../program/command.ts'

export const licenses: Command = {
  name: 'licenses',
  operands: '',
  summary: 'Print the licenses of the program and of everything it contains.',
  settings: [],
  run: async () => (await import('./licenses.ts')).printLicenses(),
}
