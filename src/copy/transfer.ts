import type { Table } from '../database/table.ts'
import { OperatorError } from '../operator-error.ts'
import type { Progress } from '../terminal/progress.ts'
import type { Source, Store, Target } from './store.ts'

/** Rows between two reports of progress. */
const REPORT_ROWS = 10_000

const LINE_FEED = 0x0a

/** What was read of a table. */
interface Content {
  readonly rows: number
  /** The SHA-256 digest of its lines, in hexadecimal. */
  readonly checksum: string
}

interface Moved extends Content {
  readonly table: Table
  /** `null` where the table gives no ids. */
  readonly lastId: number | null
}

/**
 * Copies all tables, and reads them at the target again before anything is committed there.
 * Answers how many rows each has. Rejects with an `OperatorError`; nothing is copied then.
 */
export function transfer(
  from: Store,
  to: Store,
  tables: readonly Table[],
  shown: Progress,
): Promise<{ name: string; rows: number }[]> {
  return to.fill(async target => {
    // The source is let go of before the indexes are made, which takes a while.
    const moved = await from.read(source => move(source, target, tables, shown))
    await target.complete((done, total) => shown.at('indexes', done, total))
    for (const { table, lastId } of moved) {
      if (lastId !== null && lastId > (await target.lastId(table))) await target.continueAfter(table, lastId)
    }
    for (const content of moved) await compare(content, target, shown)
    return moved.map(({ table: { name }, rows }) => ({ name, rows }))
  })
}

async function move(source: Source, target: Target, tables: readonly Table[], shown: Progress): Promise<Moved[]> {
  const moved: Moved[] = []
  for (const table of tables) {
    const reading = new Reading(table.name, await source.count(table), shown)
    await target.store(table, reading.of(source.lines(table)))
    moved.push({ table, ...reading.content(), lastId: isNumbered(table) ? await source.lastId(table) : null })
  }
  return moved
}

async function compare({ table, rows, checksum }: Moved, target: Target, shown: Progress): Promise<void> {
  const reading = new Reading(`${table.name}, checked`, rows, shown)
  for await (const _ of reading.of(target.lines(table))) {
    // Read for its checksum alone.
  }
  const stored = reading.content()
  if (stored.rows !== rows || stored.checksum !== checksum) {
    throw new OperatorError(
      `${table.name} arrived differently than it was sent (${stored.rows} rows of ${rows}); nothing was copied`,
    )
  }
}

/** Takes note of lines on their way. */
class Reading {
  readonly #part: string
  readonly #total: number
  readonly #shown: Progress
  readonly #hash = new Bun.CryptoHasher('sha256')
  #rows = 0
  #reported = 0

  constructor(part: string, total: number, shown: Progress) {
    this.#part = part
    this.#total = total
    this.#shown = shown
  }

  async *of(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#hash.update(chunk)
      for (let place = chunk.indexOf(LINE_FEED); place !== -1; place = chunk.indexOf(LINE_FEED, place + 1))
        this.#rows += 1
      if (this.#rows >= this.#reported + REPORT_ROWS && this.#rows < this.#total) {
        this.#reported = this.#rows
        this.#shown.at(this.#part, this.#rows, this.#total)
      }
      yield chunk
    }
    this.#shown.at(this.#part, this.#rows, this.#rows)
  }

  /** Of all that has passed. */
  content(): Content {
    return { rows: this.#rows, checksum: this.#hash.digest('hex') }
  }
}

function isNumbered({ key, columns }: Table): boolean {
  return columns[key] === 'integer'
}
