import { basename } from 'node:path'
import { openDatabase, readDatabaseSettings } from '../../database/open.ts'
import type { CommandLine } from '../../program/config.ts'
import { OperatorError, SettingError } from '../../program/operator-error.ts'
import { type Progress, progress } from '../../program/progress.ts'
import type { ValidationError } from '../http/validation/errors.ts'
import { catalogMigrations } from '../migrations/index.ts'
import { hash } from '../users/password.ts'
import { type BulkFile, bulkFile, pathsIn, SourceFile } from './files.ts'
import type { Load, Loader } from './loader.ts'
import { loaderOf } from './open.ts'
import { PasswordHashes } from './password-hashes.ts'
import { BULK_RESOURCES } from './resources.ts'
import { type Rows, rowsOf, storeRows } from './rows.ts'
import { keepGood } from './settings.ts'

/** An import that stores nothing stops after this many wrong lines. */
const BAD_LINES_MAX = 1_000

/** Number of rows per commit if valid lines are kept. */
const STEP_ROWS = 20_000
/** A commit also has at most about this many bytes of the file. */
const STEP_BYTES = 16_777_216

const REPORT_MS = 50

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
  const isKept = line.value(keepGood)
  const end = isKept ? 'interrupted; the same command resumes from here' : 'interrupted; nothing was imported'
  process.once('SIGINT', () => {
    process.stderr.write(`\nstockroom: ${end}\n`)
    process.exit(INTERRUPTED_STATUS)
  })
  await using database = await openDatabase(readDatabaseSettings(line), [catalogMigrations])
  await database.ready
  const work = new Import(files, loaderOf(database, { isServing: false }), shown)
  await (isKept ? work.keepGood() : work.allOrNothing())
}

class Import {
  readonly #files: readonly SourceFile[]
  readonly #loader: Loader
  readonly #shown: Progress
  readonly #hashes = new PasswordHashes(hash)
  #bad = 0
  #badMax = Number.POSITIVE_INFINITY
  #reportedAt = 0

  constructor(files: readonly SourceFile[], loader: Loader, shown: Progress) {
    this.#files = files
    this.#loader = loader
    this.#shown = shown
  }

  async allOrNothing(): Promise<void> {
    this.#badMax = BAD_LINES_MAX
    await this.#loader.load(async load => {
      for (const source of this.#files) {
        for await (const lines of source.lines()) {
          await this.#store(load, source, await rowsOf(source.file.resource, lines, this.#hashes))
        }
        this.#report(source, true)
      }
      if (this.#bad > 0) throw this.#nothingImported('')
      await load.complete((done, total) => this.#shown.report('indexes', done, total))
    })
    process.stdout.write(`Imported ${this.#counts()}\n`)
  }

  async keepGood(): Promise<void> {
    for (const source of this.#files) await this.#keepGoodOf(source)
    await this.#loader.load(async load => {
      for (const { file } of this.#files) await load.remember(nameOf(file), null)
    })
    process.stdout.write(`Imported ${this.#counts()}\n`)
    if (this.#bad > 0) throw new OperatorError(`${count(this.#bad, 'wrong line')} not imported`)
  }

  async #keepGoodOf(source: SourceFile): Promise<void> {
    const { file } = source
    const name = nameOf(file)
    const before = await this.#loader.load(load => load.interrupted(name))
    const checksum = new Bun.CryptoHasher('sha256')
    let records = 0
    let step: Rows[] = []
    let stepRows = 0
    const commit = async () => {
      const state = { records, checksum: checksum.copy().digest('hex') }
      await this.#loader.load(async load => {
        for (const rows of step) await this.#store(load, source, rows)
        await load.complete()
        await load.remember(name, state)
      })
      step = []
      stepRows = 0
    }
    let startedAt = 0
    for await (const lines of source.lines()) {
      const known = Math.min(lines.length, Math.max(0, (before?.records ?? 0) - records))
      for (const { number, ...content } of lines) {
        checksum.update(JSON.stringify(content))
        records += 1
        if (records !== before?.records) continue
        if (checksum.copy().digest('hex') !== before.checksum) throw anotherFile(file)
        this.#shown.note(`${file.path}: resuming after line ${number}`)
      }
      const rows = await rowsOf(file.resource, lines.slice(known), this.#hashes)
      step.push(rows)
      stepRows += rows.rows.length
      if (stepRows < STEP_ROWS && source.bytesRead - startedAt < STEP_BYTES) continue
      await commit()
      startedAt = source.bytesRead
    }
    if (before && records < before.records) throw anotherFile(file)
    await commit()
    this.#report(source, true)
  }

  async #store(load: Load, source: SourceFile, rows: Rows): Promise<void> {
    const { ids, bad } = await storeRows(load, source.file.resource, rows)
    for (const { number, errors } of bad) {
      for (const error of errors) this.#shown.note(`${source.file.path}:${number}${described(error)}`)
      this.#bad += 1
      if (this.#bad === this.#badMax) throw this.#nothingImported(' or more; the rest was not read')
    }
    source.stored += ids.length
    this.#report(source, false)
  }

  #report({ file, bytesRead, size, stored }: SourceFile, isEnd: boolean): void {
    const now = performance.now()
    if (!isEnd && now - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = now
    // A file that grew during the import is not complete either.
    this.#shown.report(basename(file.path), isEnd ? size : Math.max(0, Math.min(bytesRead, size - 1)), size, stored)
  }

  #nothingImported(end: string): OperatorError {
    return new OperatorError(`nothing was imported, because of ${count(this.#bad, 'wrong line')}${end}`)
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

/** Identifies the file, to resume an interrupted import. */
function nameOf({ path, resource }: BulkFile): string {
  return `${resource.stored.table} ${basename(path)}`
}

function anotherFile({ path }: BulkFile): OperatorError {
  return new OperatorError(
    `${path} is not as it was when its import was interrupted; to import it from its first line, rename it`,
  )
}

/** An error after the number of its line: the column or field, and the message. */
function described({ loc: [, place], msg }: ValidationError): string {
  if (typeof place === 'number') return `:${place + 1}: ${msg}`
  return place === undefined ? `: ${msg}` : `: ${place}: ${msg}`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
