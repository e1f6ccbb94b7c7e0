import type { Command } from '../../command.ts'
import { database, databaseSettings } from '../../database/settings.ts'
import { format, keepGood, passwordHashes, resource } from './settings.ts'

const IMPORT_NOTE = `Each FILE is named after what it contains: products.csv, reviews-2024.ndjson, users.ndjson.gz; - is standard input.
NDJSON has one JSON object on each line. The first line of CSV names the fields; it may come from a spreadsheet. Lines have
the fields that the API takes, and may have an id; products may have a category_id, users a password_hash in place of a
password. Wrong lines are listed with their numbers and reasons, and then nothing is imported.`

const EXPORT_NOTE = `TO is a new file such as products.csv, or a new folder for all four. Without TO, the resource that --resource names is
written to standard output. Passwords are masked; whoever imports such a file has users without a password.`

export const importCommand: Command = {
  name: 'import',
  operands: 'FILE ...',
  summary: 'Store the products, categories, users and reviews of NDJSON and CSV files; all or nothing.',
  settings: [...databaseSettings, resource, format, keepGood],
  note: IMPORT_NOTE,
  run: async line => (await import('./import.ts')).importFiles(line),
}

export const exportCommand: Command = {
  name: 'export',
  operands: '[TO]',
  summary: 'Write products, categories, users and reviews as NDJSON or CSV, as they are at one moment.',
  settings: [database, resource, format, passwordHashes],
  note: EXPORT_NOTE,
  run: async line => (await import('./export.ts')).exportTo(line),
}
