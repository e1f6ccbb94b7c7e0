import { basename } from 'node:path'
import { openDatabase, readDatabaseSettings } from '../../database/open.ts'
import { plural } from '../../plural.ts'
import type { CommandLine } from '../../program/config.ts'
import { OperatorError, SettingError } from '../../program/operator-error.ts'
import { print, printError } from '../../program/output.ts'
import { type Progress, progress } from '../../program/progress.ts'
import { heldSignals } from '../../program/stop-signals.ts'
import type { ValidationError } from '../http/validation/errors.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { buildSearchIndex } from '../search-index.ts'
import { hash } from '../users/password.ts'
import { shownName } from './csv.ts'
import { bulkFile, pathsIn, SourceFile } from './files.ts'
import type { Load } from './load.ts'
import { loaderOf } from './open.ts'
import { hashingPasswords } from './password-hashes.ts'
import { BULK_RESOURCES } from './resources.ts'
import { BAD_LINES_MAX, rowsOf, storeRows } from './rows.ts'
import { keepGood } from './settings.ts'
import { counted } from './table.ts'

/** The exit status of a program that SIGINT ended. */
const INTERRUPTED_STATUS = 130

export async function importFiles(line: CommandLine): Promise<void> {
  if (line.operands.length === 0) throw new SettingError('import takes at least one FILE; - is standard input')
  const shown = progress()
  const files = line.operands
    .flatMap(pathsIn)
    .map(path => bulkFile(path, line))
    .toSorted((one, other) => BULK_RESOURCES.indexOf(one.resource) - BULK_RESOURCES.indexOf(other.resource))
    .map(file => new SourceFile(file))
  process.once('SIGINT', endAtOnce)
  await using database = await openDatabase(readDatabaseSettings(line), [catalogMigrations])
  using committing = new DisposableStack()
  const wrong = await loaderOf(database, { isServing: false })(async load => {
    const count = await storeFiles(load, files, line.value(keepGood), shown)
    await load.complete((done, total) => shown.report('indexes', done, total))
    // Nobody could tell whether an interrupted commit has stored the rows.
    committing.use(heldSignals())
    process.off('SIGINT', endAtOnce)
    return count
  })
  print(`Imported ${countsOf(files)}\n`)
  committing.dispose()
  // If it is interrupted from here on, the next service completes the index.
  await buildSearchIndex(database, shown)
  if (wrong > 0) throw new OperatorError(`${wrong} wrong ${plural('line', wrong)} not imported`)
}

function endAtOnce(): void {
  printError('\nstockroom: interrupted; nothing was imported\n')
  process.exit(INTERRUPTED_STATUS)
}

/** Returns the number of wrong lines. If there are any, throws an `OperatorError` unless good lines are to be stored all the same. */
async function storeFiles(
  load: Load,
  files: readonly SourceFile[],
  keepsGood: boolean,
  shown: Progress,
): Promise<number> {
  const hashPasswords = hashingPasswords(hash)
  const badMax = keepsGood ? Number.POSITIVE_INFINITY : BAD_LINES_MAX
  let wrong = 0
  for (const source of files) {
    const { path, resource } = source.file
    const ignored = (columns: readonly string[]) =>
      shown.note(`${path}: ignored columns: ${columns.map(shownName).join(', ')}`)
    let isEmpty = true
    for await (const lines of source.lines(ignored)) {
      isEmpty &&= lines.length === 0
      const { ids, bad } = await storeRows(load, resource, await rowsOf(resource, lines, hashPasswords, badMax))
      for (const { number, errors } of bad) {
        for (const error of errors) shown.note(`${path}:${number}${described(error)}`)
        wrong += 1
        if (wrong === badMax) throw nothingImported(wrong, ' or more; the rest was not read')
      }
      source.stored += ids.length
      report(source, false, shown)
    }
    report(source, true, shown)
    if (isEmpty) shown.note(`${path}: the file is empty`)
  }
  if (wrong > 0 && !keepsGood) throw nothingImported(wrong, '')
  return wrong
}

function report({ file, bytesRead, size, stored }: SourceFile, isEnd: boolean, shown: Progress): void {
  if (!isEnd && size === 0) return
  // A file that grew during the import is not complete either.
  shown.report(basename(file.path), isEnd ? size : Math.max(0, Math.min(bytesRead, size - 1)), size, stored)
}

function nothingImported(wrong: number, end: string): OperatorError {
  return new OperatorError(`nothing was imported, because of ${wrong} wrong ${plural('line', wrong)}${end}`)
}

function countsOf(files: readonly SourceFile[]): string {
  const counts = BULK_RESOURCES.flatMap(resource => {
    const ofResource = files.filter(({ file }) => file.resource === resource)
    const stored = ofResource.reduce((sum, source) => sum + source.stored, 0)
    return ofResource.length === 0 ? [] : [counted(resource.stored, stored)]
  })
  return counts.join(', ')
}

/** An error after the number of its line: the column or field, and the message. */
function described({ loc: [, place], msg }: ValidationError): string {
  if (typeof place === 'number') return `:${place + 1}: ${msg}`
  return place === undefined ? `: ${msg}` : `: ${place}: ${msg}`
}
