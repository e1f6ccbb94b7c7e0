import { closeSync, fsyncSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { readTables } from '../../database/bulk.ts'
import { openDatabase } from '../../database/open.ts'
import { database } from '../../database/settings.ts'
import type { Row, TableReader } from '../../database/table.ts'
import type { CommandLine } from '../../program/config.ts'
import { mustBeNew, writeNew } from '../../program/new-file.ts'
import { SettingError } from '../../program/operator-error.ts'
import { print, printAll } from '../../program/output.ts'
import { type Progress, progress } from '../../program/progress.ts'
import { catalogMigrations } from '../migrations/index.ts'
import type { Value } from '../storage/resource.ts'
import { PASSWORD_MASK } from '../users/schema.ts'
import { csvLine } from './csv.ts'
import { type BulkFile, bulkFile } from './files.ts'
import { BULK_RESOURCES } from './resources.ts'
import { exportedFormat, exportedResource, FORMATS, passwordHashes } from './settings.ts'
import { tableOf } from './table.ts'

export async function exportTo(line: CommandLine): Promise<void> {
  const [to = '-'] = line.operands
  // It would become a folder of that name.
  if (/\.(gz|bz2|xz|zst|zip|jsonl?|tsv|txt|xlsx?)$/i.test(to)) {
    throw new SettingError(`${to}: export writes .ndjson or .csv; without TO, you can pipe it into gzip, for example`)
  }
  if (to === '-' && line.value(exportedResource) === null) {
    throw new SettingError(
      'export takes a new folder, or a new file such as products.csv; or use --resource for standard output',
    )
  }
  const isOne = to === '-' || FORMATS.some(name => extname(to).toLowerCase() === `.${name}`)
  const files = isOne ? [bulkFile(to, line, 'ndjson')] : filesIn(to, line)
  const showsHashes = line.value(passwordHashes)
  if (to !== '-') mustBeNew(to)
  await using store = await openDatabase({ address: line.value(database) }, [catalogMigrations], { mustExist: true })
  const shown = progress()
  await readTables(store, async reader => {
    const textsOf = (file: BulkFile) => exported(reader, file, showsHashes, shown)
    if (to === '-') {
      for (const file of files) await printAll(textsOf(file))
      return
    }
    await writeNew(to, async partial => {
      if (!isOne) mkdirSync(partial, { mode: 0o700 })
      for (const file of files) await writeFile(isOne ? partial : join(partial, basename(file.path)), textsOf(file))
    })
  })
  if (to !== '-') print(`${to} has the data as it was when the export began\n`)
}

function filesIn(folder: string, line: CommandLine): BulkFile[] {
  const told = line.value(exportedResource)
  const chosen = BULK_RESOURCES.filter(({ stored }) => told === null || stored.table === told)
  const ending = line.value(exportedFormat) ?? 'ndjson'
  return chosen.map(one => ({ path: join(folder, `${one.stored.table}.${ending}`), resource: one, format: ending }))
}

/** The lines of a file, a few at a time. */
async function* exported(
  reader: TableReader,
  { resource: { stored }, format: written }: BulkFile,
  showsHashes: boolean,
  shown: Progress,
): AsyncGenerator<string> {
  const table = tableOf(stored)
  const total = await reader.count(table)
  const columns = Object.keys(table.columns)
  const isHidden = (column: string | undefined) => column === 'password_hash' && !showsHashes
  const names = columns.map(column => (isHidden(column) ? 'password' : column))
  const valuesOf = (row: Row) => row.map((value, place) => (isHidden(columns[place]) ? PASSWORD_MASK : value))
  const lineOf = written === 'csv' ? csvLine : (values: readonly Value[]) => ndjsonLine(names, values)
  if (written === 'csv') yield csvLine(names)
  let done = 0
  for await (const rows of reader.rows(table)) {
    let text = ''
    for (const row of rows) text += lineOf(valuesOf(row))
    yield text
    done += rows.length
    if (done < total) shown.report(stored.table, done, total)
  }
  shown.report(stored.table, done, total)
}

function ndjsonLine(names: readonly string[], values: readonly Value[]): string {
  return `${JSON.stringify(Object.fromEntries(names.map((name, place) => [name, values[place]])))}\n`
}

/** Only the owner may read the file, because it has personal data. */
async function writeFile(path: string, texts: AsyncIterable<string>): Promise<void> {
  const descriptor = openSync(path, 'wx', 0o600)
  try {
    for await (const text of texts) writeFileSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
