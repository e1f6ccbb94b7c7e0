import { readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { CommandLine } from '../../program/config.ts'
import { errorMessage } from '../../program/error-message.ts'
import { OperatorError, SettingError } from '../../program/operator-error.ts'
import { fileLines } from './file-lines.ts'
import type { Line } from './ndjson.ts'
import { BULK_RESOURCES, type BulkResource } from './resources.ts'
import { FORMATS, type Format, format, resource } from './settings.ts'

const NAMES = BULK_RESOURCES.map(({ stored }) => stored.table).join(', ')

/** A file that is named on the command line; `-` is standard input or output. */
export interface BulkFile {
  readonly path: string
  readonly resource: BulkResource
  readonly format: Format
}

/**
 * Describes a file by the flags or else by its name, such as `products.csv` or `shop/reviews-2.ndjson.gz`. The first word of
 * the name is the resource.
 */
export function bulkFile(path: string, line: CommandLine, usual?: Format): BulkFile {
  const name = basename(path).toLowerCase().replace(/\.gz$/, '')
  const told = line.value(resource) ?? /^[a-z]+/.exec(name)?.[0]
  const found = BULK_RESOURCES.find(({ stored }) => stored.table === told)
  const written = line.value(format) ?? FORMATS.find(known => name.endsWith(`.${known}`)) ?? usual
  if (!found) throw new SettingError(`${path}: use --resource to say what it contains: ${NAMES}`)
  if (!written) {
    const known = 'csv, or ndjson if each line is a JSON object'
    throw new SettingError(`${path}: save it as "CSV UTF-8", or use --format to say how it is written: ${known}`)
  }
  return { path, resource: found, format: written }
}

/** The files of a folder that are named after what they contain, or the file itself. */
export function pathsIn(path: string): string[] {
  if (path === '-') return [path]
  try {
    const entry = statSync(path, { throwIfNoEntry: false })
    if (!entry) throw new OperatorError('it does not exist')
    if (!entry.isDirectory()) return [path]
    const named = /^(categories|products|users|reviews)(?![a-z]).*\.(ndjson|csv)(\.gz)?$/i
    const paths = readdirSync(path)
      .filter(name => named.test(name))
      .map(name => join(path, name))
      .filter(found => !isFolder(found))
    if (paths.length === 0) throw new OperatorError('no file in it is named after what it contains')
    return paths
  } catch (error) {
    throw new OperatorError(`${path}: ${errorMessage(error)}`)
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** A file to import. */
export class SourceFile {
  readonly file: BulkFile
  /** In bytes; infinite if it is unknown. */
  readonly size: number
  bytesRead = 0
  /** Number of its rows that were stored. */
  stored = 0

  constructor(file: BulkFile) {
    this.file = file
    this.size = file.path === '-' ? Number.POSITIVE_INFINITY : Bun.file(file.path).size
  }

  /** `ignored` is called with the names of unknown columns. */
  async *lines(ignored: (columns: readonly string[]) => void): AsyncGenerator<readonly Line[]> {
    const { path, resource, format } = this.file
    try {
      yield* fileLines(this.#bytes(), format, { resource, ignored })
    } catch (error) {
      // An error with a code comes from the file or its compression.
      const isOfFile = error instanceof OperatorError || (error instanceof Error && 'code' in error)
      throw isOfFile ? new OperatorError(`${path}: ${error.message}`) : error
    }
  }

  #bytes(): AsyncIterable<Uint8Array> {
    if (!this.file.path.toLowerCase().endsWith('.gz')) return this.#read()
    // An error in any of them is thrown where the last one is read.
    return pipeline(this.#read(), createGunzip(), () => {})
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    const { path } = this.file
    for await (const chunk of (path === '-' ? Bun.stdin : Bun.file(path)).stream()) {
      this.bytesRead += chunk.length
      yield chunk
    }
  }
}
