import { basename } from 'node:path'
import { openDatabase, readDatabaseSettings, type StoreDatabase } from '../../database/open.ts'
import { plural } from '../../plural.ts'
import type { CommandLine } from '../../program/config.ts'
import { OperatorError, SettingError } from '../../program/operator-error.ts'
import { print, printError } from '../../program/output.ts'
import { type Progress, progress } from '../../program/progress.ts'
import type { ValidationError } from '../http/validation/errors.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { buildSearchIndex } from '../search-index.ts'
import { hash } from '../users/password.ts'
import { bulkFile, pathsIn, SourceFile } from './files.ts'
import type { Load } from './load.ts'
import { loaderOf } from './open.ts'
import { PasswordHashes } from './password-hashes.ts'
import { BULK_RESOURCES } from './resources.ts'
import { type CheckedRows, rowsOf, storeRows } from './rows.ts'
import { keepGood } from './settings.ts'

/** An import that stores nothing stops after this many wrong lines. */
const BAD_LINES_MAX = 1_000

/** The exit status of a program that SIGINT ended. */
const INTERRUPTED_STATUS = 130

export async function importFiles(line: CommandLine): Promise<void> {
  if (line.operands.length === 0) throw new SettingError('import takes at least one FILE; - is standard input')
  const shown = progress()
  const files = line.operands
    .flatMap(pathsIn)
    .map(path => bulkFile(path, line))
    .toSorted((one, other) => BULK_RESOURCES.indexOf(one.resource) - BULK_RESOURCES.indexOf(other.resource))
    .map(file => new SourceFile(file, columns => shown.note(`${file.path}: ignored columns: ${columns.join(', ')}`)))
  process.once('SIGINT', endAtOnce)
  await using database = await openDatabase(readDatabaseSettings(line), [catalogMigrations])
  await database.ready
  const keepsGood = line.value(keepGood)
  await new Import(files, database, shown, keepsGood).run()
}

function endAtOnce(): void {
  printError('\nstockroom: interrupted; nothing was imported\n')
  process.exit(INTERRUPTED_STATUS)
}

class Import {
  readonly #files: readonly SourceFile[]
  readonly #database: StoreDatabase
  readonly #shown: Progress
  /** Whether good lines are stored even if others are wrong. */
  readonly #keepsGood: boolean
  readonly #hashes = new PasswordHashes(hash)
  #bad = 0

  constructor(files: readonly SourceFile[], database: StoreDatabase, shown: Progress, keepsGood: boolean) {
    this.#files = files
    this.#database = database
    this.#shown = shown
    this.#keepsGood = keepsGood
  }

  async run(): Promise<void> {
    await loaderOf(this.#database, { isServing: false }).load(async load => {
      for (const source of this.#files) {
        for await (const lines of source.lines()) {
          await this.#store(load, source, await rowsOf(source.file.resource, lines, this.#hashes))
        }
        this.#report(source, true)
      }
      if (this.#bad > 0 && !this.#keepsGood) throw this.#nothingImported('')
      await load.complete((done, total) => this.#shown.report('indexes', done, total))
    })
    print(`Imported ${this.#counts()}\n`)
    // If it is interrupted from here on, the next service completes the index.
    process.off('SIGINT', endAtOnce)
    await buildSearchIndex(this.#database, this.#shown)
    if (this.#bad > 0) throw new OperatorError(`${this.#bad} wrong ${plural('line', this.#bad)} not imported`)
  }

  async #store(load: Load, source: SourceFile, rows: CheckedRows): Promise<void> {
    const { ids, bad } = await storeRows(load, source.file.resource, rows)
    for (const { number, errors } of bad) {
      for (const error of errors) this.#shown.note(`${source.file.path}:${number}${described(error)}`)
      this.#bad += 1
      if (this.#bad === BAD_LINES_MAX && !this.#keepsGood)
        throw this.#nothingImported(' or more; the rest was not read')
    }
    source.stored += ids.length
    this.#report(source, false)
  }

  #report({ file, bytesRead, size, stored }: SourceFile, isEnd: boolean): void {
    // A file that grew during the import is not complete either.
    this.#shown.report(basename(file.path), isEnd ? size : Math.max(0, Math.min(bytesRead, size - 1)), size, stored)
  }

  #nothingImported(end: string): OperatorError {
    return new OperatorError(`nothing was imported, because of ${this.#bad} wrong ${plural('line', this.#bad)}${end}`)
  }

  #counts(): string {
    const counts = BULK_RESOURCES.flatMap(resource => {
      const files = this.#files.filter(({ file }) => file.resource === resource)
      const stored = files.reduce((sum, source) => sum + source.stored, 0)
      return files.length === 0 ? [] : [`${stored} ${resource.stored.table}`]
    })
    return counts.join(', ')
  }
}

/** An error after the number of its line: the column or field, and the message. */
function described({ loc: [, place], msg }: ValidationError): string {
  if (typeof place === 'number') return `:${place + 1}: ${msg}`
  return place === undefined ? `: ${msg}` : `: ${place}: ${msg}`
}
