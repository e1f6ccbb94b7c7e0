import { database, databaseSettings, POSTGRES_NOTE } from '../../database/settings.ts'
import type { Command } from '../../program/command.ts'
import { exportedFormat, exportedResource, format, keepGood, passwordHashes, resource } from './settings.ts'

const IMPORT_NOTE = `Each FILE is named after what it contains: products.csv, reviews-2024.ndjson, users.ndjson.gz; - is standard input, and a
folder means all such files in it. NDJSON has one JSON object per line. CSV may come from a spreadsheet; its first line names
the fields. The fields are those of the API, and may include an id, the category_id of a product, and the password_hash of a
user instead of a password. If lines are wrong, they are listed with their numbers and reasons, and nothing is imported,
unless --keep-good is given.

${POSTGRES_NOTE}`

const EXPORT_NOTE = `TO is a new file such as products.csv, or a new folder for all four. Without TO, the resource that --resource names is
written to standard output. Passwords are masked, so users imported from such a file have none.

${POSTGRES_NOTE}`

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
  summary: 'Write a consistent snapshot of products, categories, users and reviews as NDJSON or CSV.',
  settings: [
    { ...database, meaning: 'the database: sqlite:PATH or postgres://…' },
    exportedResource,
    exportedFormat,
    passwordHashes,
  ],
  note: EXPORT_NOTE,
  run: async line => (await import('./export.ts')).exportTo(line),
}
