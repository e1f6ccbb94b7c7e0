import { setImmediate as turn } from 'node:timers/promises'
import { CsvError, type Options, type Parser, parse } from 'csv-parse'
import { OperatorError } from '../../program/operator-error.ts'
import { errorAt, fault } from '../http/validation/errors.ts'
import type { Value } from '../storage/resource.ts'
import { LINE_MAX_BYTES, type Line } from './ndjson.ts'
import type { BulkResource } from './resources.ts'

/** Spreadsheets write either, depending on the user's language. */
const DELIMITERS = [',', ';', '\t']

/** Limit on the columns of a file, which are compared with each other. */
const COLUMNS_MAX = 1_000

/** Bytes that are parsed in one turn of the event loop. The parser needs 10 µs for a line, however short it is. */
const PART_BYTES = 8_192

/** In the order in which they are tried. A file may have several, if somebody has added lines to it. */
const LINE_ENDS = ['\r\n', '\n', '\r']

/** Why a file cannot be read, by the parser's code. The parser's own words repeat what is in the file, perhaps a password. */
const FAULTS: Readonly<Record<string, string>> = {
  INVALID_OPENING_QUOTE: 'a field has a quote, but does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'a field goes on after its closing quote',
  CSV_QUOTE_NOT_CLOSED: 'a field has no closing quote',
  CSV_MAX_RECORD_SIZE: `the line is longer than ${LINE_MAX_BYTES} bytes`,
}

export interface CsvOptions {
  readonly resource: BulkResource
  /** Called with the names of unknown columns. */
  readonly ignored: (columns: readonly string[]) => void
}

/**
 * Reads CSV as spreadsheets write it: the first line names the fields, and an empty field means no value. Throws an
 * `OperatorError` if the file cannot be read as a whole.
 */
export async function* csvLines(
  chunks: AsyncIterable<Uint8Array>,
  options: CsvOptions,
): AsyncGenerator<readonly Line[]> {
  let reader: CsvReader | null = null
  for await (const bytes of withFirstLine(checkedUtf8(chunks))) {
    reader ??= new CsvReader(bytes, options)
    yield await reader.read(bytes)
  }
  if (reader) yield await reader.end()
}

class CsvReader {
  readonly #parser: Parser
  readonly #resource: BulkResource
  readonly #ignored: CsvOptions['ignored']
  readonly #delimiter: string
  #columns = 0
  /** The places of the fields. Those of unknown columns are left out: each line would be looked through for each of them. */
  #places: ReadonlyMap<string, number> | null = null
  readonly #lines: Line[] = []
  /** Line breaks within quotes. The parser counts a CRLF there as two lines. */
  #breaks = 0
  /** How many lines had ended at the end of the last part, and the bytes since then. */
  #ended = 0
  #unendedBytes = 0

  constructor(start: Uint8Array, { resource, ignored }: CsvOptions) {
    this.#resource = resource
    this.#ignored = ignored
    const header = /[^\r\n]+/.exec(new TextDecoder().decode(start))?.[0] ?? ''
    this.#delimiter = delimiterIn(header, Object.keys(resource.line.shape))
    const options: Options = {
      bom: true,
      delimiter: this.#delimiter,
      record_delimiter: LINE_ENDS,
      relax_column_count: true,
      skip_empty_lines: true,
      max_record_size: LINE_MAX_BYTES,
      // The parser's own output is not used, because passing it on would take as long as parsing.
      on_record: (record: string[]) => {
        this.#add(record, this.#endedLines)
        for (const field of record) this.#breaks += field.match(/\r\n|\r|\n/g)?.length ?? 0
        return null
      },
    }
    this.#parser = parse(options).resume()
    // Without a listener it would end the process. Each write reports the error as well.
    this.#parser.on('error', () => {})
  }

  /** The lines that end in these bytes. */
  async read(bytes: Uint8Array): Promise<readonly Line[]> {
    for (let start = 0; start < bytes.length; start += PART_BYTES) {
      const part = bytes.subarray(start, start + PART_BYTES)
      await turn()
      await this.#parsed(told => this.#parser.write(part, told))
      this.#boundLine(part.length)
    }
    return this.#lines.splice(0)
  }

  async end(): Promise<readonly Line[]> {
    await this.#parsed(told => this.#parser.end(told))
    return this.#lines.splice(0)
  }

  async #parsed(parse: (told: (error?: Error | null) => void) => void): Promise<void> {
    const error = await new Promise<Error | null | undefined>(parse)
    if (error) throw error instanceof CsvError ? this.#refusal(error.code) : error
  }

  /** The parser's own limit does not count delimiters, and each of them makes a field, which takes far more memory. */
  #boundLine(bytes: number): void {
    this.#unendedBytes = this.#endedLines === this.#ended ? this.#unendedBytes + bytes : 0
    this.#ended = this.#endedLines
    if (this.#unendedBytes > LINE_MAX_BYTES) throw this.#refusal('CSV_MAX_RECORD_SIZE')
  }

  /** Blank ones included. */
  get #endedLines(): number {
    return this.#parser.info.records + this.#parser.info.empty_lines + this.#breaks
  }

  #refusal(code: CsvError['code']): OperatorError {
    return new OperatorError(`line ${this.#endedLines + 1}: ${FAULTS[code] ?? code}`)
  }

  #add(record: readonly string[], number: number): void {
    if (!this.#places) {
      this.#columns = record.length
      this.#places = this.#readNames(record)
      return
    }
    if (record.length > this.#columns) {
      const reason = `${record.length} fields, but the first line names ${this.#columns}`
      this.#lines.push({ number, errors: [errorAt(['body'], fault.value(reason))] })
    } else {
      this.#lines.push({ number, value: this.#valueOf(record, this.#places) })
    }
  }

  #readNames(record: readonly string[]): ReadonlyMap<string, number> {
    const names = record.map(name => name.trim().toLowerCase())
    if (names.length > COLUMNS_MAX) throw new OperatorError(`the first line names more than ${COLUMNS_MAX} columns`)
    const { line } = this.#resource
    const fields = Object.keys(line.shape)
    const twice = names.find((name, place) => names.indexOf(name) !== place)
    if (twice !== undefined) throw new OperatorError(`two columns have the name ${shownName(twice)}`)
    const issues = line.safeParse(Object.fromEntries(names.map(name => [name, '']))).error?.issues ?? []
    const missing = fields.filter(field => !names.includes(field) && issues.some(({ path }) => path[0] === field))
    if (missing.length > 0) {
      throw new OperatorError(`the first line must name the columns, and lacks ${missing.join(', ')}`)
    }
    const ignored = names.filter(name => !fields.includes(name))
    if (ignored.length > 0) this.#ignored(ignored)
    return new Map([...names.entries()].flatMap(([place, name]) => (fields.includes(name) ? [[name, place]] : [])))
  }

  #valueOf(record: readonly string[], places: ReadonlyMap<string, number>): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    const { columns } = this.#resource.stored
    for (const [name, place] of places) {
      const field = record[place] ?? ''
      const type = columns[name]
      if (name === 'password' || name === 'password_hash') value[name] = field === '' ? undefined : field
      else if (type === 'text' || type === 'long text') value[name] = field
      else if (field !== '') value[name] = this.#numberOf(field)
    }
    return value
  }

  /** Text that is not a number stays text, and the schema rejects it. */
  #numberOf(field: string): number | string {
    const text = field.trim()
    if (/^true$/i.test(text)) return 1
    if (/^false$/i.test(text)) return 0
    const decimal = this.#delimiter === ';' ? text.replace(',', '.') : text
    return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(decimal) ? Number(decimal) : field
  }
}

/** The name of a column in a message. Somebody else may have written the file, and JSON keeps some characters that control a terminal. */
export function shownName(name: string): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(name).replace(/[\p{Cc}\p{Cf}]/gu, character => character.split('').map(escaped).join(''))
}

/** The delimiter by which the header has the most names of fields. Counting delimiters would mislead: an unknown name may be full of them. */
function delimiterIn(header: string, fields: readonly string[]): string {
  const namesBy = (delimiter: string) => {
    const names = header.split(delimiter).map(name => name.replaceAll('"', '').trim().toLowerCase())
    return names.filter(name => fields.includes(name)).length
  }
  return DELIMITERS.toSorted((one, other) => namesBy(other) - namesBy(one))[0] ?? ','
}

/** Joins the first chunks so that the first one has the whole first line that is not blank, unless that is too long for a line. */
async function* withFirstLine(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let first: Uint8Array | null = new Uint8Array()
  for await (const chunk of chunks) {
    if (first === null) {
      yield chunk
      continue
    }
    first = Buffer.concat([first, chunk])
    const isWhole = /[^\r\n][\r\n]/.test(new TextDecoder().decode(first)) || first.length > LINE_MAX_BYTES
    if (!isWhole) continue
    yield first
    first = null
  }
  if (first) yield first
}

/** Spreadsheets may write other encodings, in which names would be garbled. */
async function* checkedUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  try {
    for await (const chunk of chunks) {
      decoder.decode(chunk, { stream: true })
      yield chunk
    }
    decoder.decode()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new OperatorError('not encoded in UTF-8; save it as "CSV UTF-8"')
  }
}

/** A CSV line with its line feed. */
export function csvLine(fields: readonly Value[]): string {
  return `${fields.map(field => quoted(field === null ? '' : String(field))).join(',')}\n`
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
