import type { Table } from '../database/table.ts'
import { OperatorError } from '../program/operator-error.ts'
import type { Progress } from '../program/progress.ts'
import type { Source, Store, Target } from './store.ts'

/** Rows between two progress reports. */
const REPORT_ROWS = 10_000

const LINE_FEED = 0x0a

interface Content {
  readonly rows: number
  /** The SHA-256 digest of its lines, in hexadecimal. */
  readonly checksum: string
}

interface CopiedTable extends Content {
  readonly table: Table
  /** `null` if the table assigns no ids. */
  readonly lastId: number | null
}

/**
 * Copies all tables, then reads them back and compares them before it commits. Resolves to the number of rows in each.
 * Rejects with an `OperatorError`; then nothing is copied.
 */
export function transfer(
  from: Store,
  to: Store,
  tables: readonly Table[],
  progress: Progress,
): Promise<{ name: string; rows: number }[]> {
  return to.fill(async target => {
    // Release the source before creating the indexes, which takes a while.
    const copied = await from.read(source => copyTables(source, target, tables, progress))
    await target.complete((done, total) => progress.report('indexes', done, total))
    for (const { table, lastId } of copied) {
      if (lastId !== null && lastId > (await target.lastId(table))) await target.continueAfter(table, lastId)
    }
    for (const content of copied) await compare(content, target, progress)
    return copied.map(({ table: { name }, rows }) => ({ name, rows }))
  })
}

async function copyTables(
  source: Source,
  target: Target,
  tables: readonly Table[],
  progress: Progress,
): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of tables) {
    const digest = new Digest(table.name, await source.count(table), progress)
    await target.store(table, digest.of(source.lines(table)))
    copied.push({ table, ...digest.content(), lastId: isNumbered(table) ? await source.lastId(table) : null })
  }
  return copied
}

async function compare({ table, rows, checksum }: CopiedTable, target: Target, progress: Progress): Promise<void> {
  const digest = new Digest(`${table.name}, checked`, rows, progress)
  for await (const _ of digest.of(target.lines(table))) {
    // Reading it computes the checksum.
  }
  const stored = digest.content()
  if (stored.rows !== rows || stored.checksum !== checksum) {
    throw new OperatorError(
      `the copy of ${table.name} differs from the original (${stored.rows} of ${rows} rows); nothing was copied`,
    )
  }
}

/** Counts and hashes the lines that pass through it. */
class Digest {
  readonly #part: string
  readonly #total: number
  readonly #progress: Progress
  readonly #hash = new Bun.CryptoHasher('sha256')
  #rows = 0
  #reported = 0

  constructor(part: string, total: number, progress: Progress) {
    this.#part = part
    this.#total = total
    this.#progress = progress
  }

  async *of(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk)
      for (let place = chunk.indexOf(LINE_FEED); place !== -1; place = chunk.indexOf(LINE_FEED, place + 1))
        this.#rows += 1
      if (this.#rows >= this.#reported + REPORT_ROWS && this.#rows < this.#total) {
        this.#reported = this.#rows
        this.#progress.report(this.#part, this.#rows, this.#total)
      }
      yield chunk
    }
    this.#progress.report(this.#part, this.#rows, this.#rows)
  }

  /** Covers everything that has passed. */
  content(): Content {
    return { rows: this.#rows, checksum: this.#hash.digest('hex') }
  }
}

function isNumbered({ key, columns }: Table): boolean {
  return columns[key] === 'integer'
}
