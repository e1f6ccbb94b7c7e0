import { type LogChanges, readTables, reasonOfRefusedRow } from '../database/bulk.ts'
import type { StoreDatabase } from '../database/open.ts'
import type { Row, Table, TableReader, TableWriter } from '../database/table.ts'
import { OperatorError } from '../program/operator-error.ts'
import type { Progress } from '../program/progress.ts'

/** Rows between two progress reports. */
const REPORT_ROWS = 10_000

interface CopiedTable {
  readonly table: Table
  readonly rows: number
  /** `null` without rows. */
  readonly firstKey: Row[number]
  readonly lastKey: Row[number]
  /** The SHA-256 digest of its rows, in hexadecimal. */
  readonly checksum: string
}

interface Target {
  readonly target: TableWriter
  readonly log: LogChanges
}

/**
 * Copies all tables, then reads them back and compares them. Resolves to the number of rows in each. Rejects with an
 * `OperatorError`; then the target must be rolled back.
 */
export async function transfer(
  source: StoreDatabase,
  { target, log }: Target,
  tables: readonly Table[],
  progress: Progress,
): Promise<{ name: string; rows: number }[]> {
  if (!(await target.areEmpty(tables))) {
    throw new OperatorError('TO is not empty, so nothing was copied; copy needs an empty database')
  }
  await target.dropIndexes(tables)
  try {
    // Release the source before creating the indexes, which takes a while.
    const copied = await readTables(source, reader => copyTables(reader, target, tables, progress))
    await target.complete((done, total) => progress.report('indexes', done, total))
    for (const content of copied) await compare(content, target, progress)
    // A service may run on the empty database, with followers.
    await log(
      copied
        .filter(({ table, rows }) => table.isLogged && rows > 0)
        .map(({ table, rows, firstKey, lastKey }) => {
          return { table: table.name, count: rows, firstId: Number(firstKey), lastId: Number(lastKey) }
        }),
    )
    return copied.map(({ table: { name }, rows }) => ({ name, rows }))
  } catch (error) {
    // Other programs may have written what TO does not take, such as a text with a NUL.
    const reason = reasonOfRefusedRow(error)
    if (reason === null) throw error
    throw new OperatorError(`TO refused a row of FROM, so nothing was copied: ${reason}`, { cause: error })
  }
}

async function copyTables(
  source: TableReader,
  target: TableWriter,
  tables: readonly Table[],
  progress: Progress,
): Promise<CopiedTable[]> {
  const copied: CopiedTable[] = []
  for (const table of tables) {
    const digest = digestOf(table.name, await source.count(table), progress)
    await target.insert(table, digest.pass(source.rows(table)))
    if (table.columns[table.key] === 'integer') await target.continueIds(table, await source.lastId(table))
    copied.push({ table, ...digest.content() })
  }
  return copied
}

async function compare({ table, rows, checksum }: CopiedTable, target: TableWriter, progress: Progress): Promise<void> {
  const digest = digestOf(`${table.name}, checked`, rows, progress)
  for await (const _ of digest.pass(target.rows(table))) {
    // Reading it computes the checksum.
  }
  const stored = digest.content()
  if (stored.rows !== rows || stored.checksum !== checksum) {
    throw new OperatorError(
      `the copy of ${table.name} differs from the original (${stored.rows} of ${rows} rows); nothing was copied`,
    )
  }
}

/** Counts and hashes the rows that pass through it. */
function digestOf(part: string, total: number, progress: Progress) {
  const hash = new Bun.CryptoHasher('sha256')
  let count = 0
  let firstKey: Row[number] = null
  let lastKey: Row[number] = null
  let reported = 0
  return {
    async *pass(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
      for await (const rows of batches) {
        // Without the outer brackets, because the source and the target may come in different batches.
        if (rows.length > 0) hash.update(`${JSON.stringify(rows).slice(1, -1)},`)
        count += rows.length
        firstKey ??= rows[0]?.[0] ?? null
        lastKey = rows.at(-1)?.[0] ?? lastKey
        if (count >= reported + REPORT_ROWS && count < total) {
          reported = count
          progress.report(part, count, total)
        }
        yield rows
      }
      progress.report(part, count, count)
    },
    /** Covers everything that has passed. */
    content: () => ({ rows: count, firstKey, lastKey, checksum: hash.digest('hex') }),
  }
}
