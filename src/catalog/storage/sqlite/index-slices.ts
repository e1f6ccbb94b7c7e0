import type { Parameter } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import { rowsOf, type Steps } from '../../../database/sqlite/steps.ts'
import type { IndexSlices, NotedRange } from '../index/catching-up.ts'
import { factsOf, INDEX_FORM, type NotedRow, notedRows, valueColumns, valueFacts } from '../index/facts.ts'
import type { IndexDescription } from '../resource.ts'

/**
 * Limits on a slice. A row may have thousands of notes, such as a product with as many new reviews. Each commit of FTS5 costs as
 * much as a hundred rows. So a service takes more than a few notes on a thread: the event loop goes on, and other writers wait. A
 * command takes many, because it does nothing else meanwhile.
 */
const SLICES = {
  here: { rows: 16, notes: 16, bytes: 65_536 },
  beside: { rows: 256, notes: 4_096, bytes: 1_048_576 },
  many: { rows: 1_024, notes: 16_384, bytes: 1_048_576 },
}

/** How many rows a slice takes, how many of their notes, and how many bytes their texts have, but for the last one. */
type Limits = (typeof SLICES)['here']

/**
 * For each row whose words it takes, a slice merges at most so many pages that earlier slices have written. With a million
 * products, this kept up with 120,000 changed texts in a row.
 */
const MERGED_PAGES_PER_ROW = 3

interface Note {
  readonly number: number
  readonly part: string
  readonly id: number
}

/** The notes of a row. It is taken as it is now, so all of them are taken at once. */
interface NotedPart extends Pick<Note, 'part' | 'id'> {
  readonly numbers: number[]
}

const NOTES = 'SELECT number, part, id FROM index_notes WHERE number > 0 ORDER BY number LIMIT ?'
const FORGET = 'DELETE FROM index_notes WHERE number IN (SELECT value FROM json_each(?))'

/** Brings the indexes of these resources up to date, within writes. */
export function sqliteIndexSlices(database: SqliteDatabase, indexes: readonly IndexDescription[]): IndexSlices {
  const range = database.prepare<[], { first: number | null; last: number | null }>(
    'SELECT (SELECT min(number) FROM index_notes) AS first, (SELECT max(number) FROM index_notes) AS last',
  )
  const form = database.prepare<[], { number: number; is_built: number }>(
    'SELECT number, is_built FROM index_form WHERE id = 1',
  )
  const setForm = database.prepare<[number: number, isBuilt: number]>(
    'UPDATE index_form SET number = ?, is_built = ? WHERE id = 1',
  )
  // A service whose index is damaged does not start.
  for (const { words } of indexes) database.prepare(mergeOf(words))
  /** Added to the numbers, because SQLite begins with 1 again after all notes were taken, and no search has to wait for later ones. */
  let numbersBefore = 0
  let lastSeen = 0
  const look = (): NotedRange | null => {
    const { first = null, last = null } = range.get() ?? {}
    if (first === null || last === null) {
      numbersBefore += lastSeen
      lastSeen = 0
      return null
    }
    lastSeen = Math.max(lastSeen, last)
    return { first: first + numbersBefore, last: last + numbersBefore }
  }
  return {
    noted: () => database.look(look),
    isBuilt: async () => {
      const known = database.look(() => form.get())
      if (known?.number === INDEX_FORM) return known.is_built === 1
      await database.write(() => {
        // Another process may have noted them meanwhile.
        if (form.get()?.number === INDEX_FORM) return
        for (const { table } of indexes) {
          database.prepare(`INSERT INTO index_notes (part, id) SELECT '${table}', id FROM ${table}`).run()
        }
        setForm.run(INDEX_FORM, 0)
      })
      return false
    },
    take: async count => {
      const noted = database.look(look)
      if (noted === null) return 'done'
      if (count === 'few' && noted.last - noted.first >= SLICES.here.notes) {
        return database.writeStepsBeside(() => sliceOf(indexes, SLICES.beside))
      }
      const seen = { numbersBefore, lastSeen }
      return database.writeSteps(function* () {
        // With others that fail, this is rolled back and runs again, and may take fewer notes then.
        ;({ numbersBefore, lastSeen } = seen)
        const isTaken = yield* sliceOf(indexes, count === 'few' ? SLICES.here : SLICES.many)
        // Before the writes that follow in this transaction.
        look()
        return isTaken
      })
    },
    // In one transaction, this would save a third of the time, but nobody else could write meanwhile.
    rebuild: async () => {},
    built: () => database.write(() => void setForm.run(INDEX_FORM, 1)),
  }
}

/** SQL that merges a number of pages of FTS5. */
function mergeOf(words: string): string {
  return `INSERT INTO ${words} (${words}, rank) VALUES ('merge', ?)`
}

/** Groups the first notes by their rows, in the order of ids: FTS5 writes what it has so far whenever they do not ascend. */
function notesOfRows(notes: Iterable<Note>, most: number): readonly NotedPart[] {
  const ofRows = new Map<string, NotedPart>()
  for (const { number, part, id } of notes) {
    const row = `${part} ${id}`
    const known = ofRows.get(row)
    if (!known && ofRows.size === most) break
    if (known) known.numbers.push(number)
    else ofRows.set(row, { part, id, numbers: [number] })
  }
  return [...ofRows.values()].sort((one, other) => one.id - other.id)
}

/** Takes the rows of the first notes into the indexes as they are now, or out of them. Returns whether there were any. */
function* sliceOf(indexes: readonly IndexDescription[], limits: Limits): Steps<boolean> {
  const noted = notesOfRows(yield* rowsOf<Note>(NOTES, [[limits.notes]]), limits.rows)
  const left = new Set<NotedPart>()
  for (const index of indexes) {
    const own = noted.filter(({ part }) => part === index.table || part === index.values)
    const fitting = yield* fittingOf(index, own, limits)
    for (const row of own.slice(fitting.length)) left.add(row)
    if (fitting.length > 0) yield* indexed(index, fitting)
  }
  const numbers = noted.filter(row => !left.has(row)).flatMap(row => row.numbers)
  yield* rowsOf(FORGET, [[JSON.stringify(numbers)]])
  return numbers.length > 0
}

/** The first rows whose texts a slice may hold. */
function* fittingOf(
  { table, text }: IndexDescription,
  noted: readonly NotedPart[],
  limits: Limits,
): Steps<readonly NotedPart[]> {
  const sizes = yield* rowsOf<{ id: number; bytes: number }>(
    `SELECT id, octet_length(name) + octet_length(${text}) AS bytes FROM ${table} WHERE id = ?`,
    idsOf(noted),
  )
  const bytesOf = new Map(sizes.map(({ id, bytes }) => [id, bytes]))
  let bytes = 0
  const end = noted.findIndex(({ id }) => {
    const isFull = bytes >= limits.bytes
    bytes += bytesOf.get(id) ?? 0
    return isFull
  })
  return end === -1 ? noted : noted.slice(0, end)
}

/** Takes rows into an index as they are now, or out of it if they are gone. */
function* indexed(index: IndexDescription, noted: readonly NotedPart[]): Steps<void> {
  const { table, facts, words } = index
  const columns = ['id', 'sort_name', 'beginning', ...Object.keys(valueColumns(index))]
  const names = columns.join(', ')
  const ids = idsOf(noted)
  const rows = byId(yield* rowsOf<NotedRow>(`SELECT ${notedRows(index)} WHERE owner.id = ?`, ids))
  const known = byId(yield* rowsOf<NotedRow>(`SELECT ${names} FROM ${facts} WHERE id = ?`, ids))
  // If there is a note of the values alone, the words are as before.
  const whole = new Set(noted.filter(({ part }) => part === table).map(({ id }) => id))
  const inserts: Parameter[][] = []
  const updates = new Map<string, Parameter[][]>()
  const texts: Parameter[][] = []
  for (const row of rows.values()) {
    const { id } = row
    const made = whole.has(id) ? factsOf(index, row) : { facts: valueFacts(index, row), words: null }
    const before = known.get(id)
    if (made.words) texts.push([id, made.words.join(' ')])
    if (before) {
      // Only what differs, because each column has an index, whose pages are far apart.
      const changed = Object.keys(made.facts).filter(name => made.facts[name] !== before[name])
      const values = changed.map(name => made.facts[name] ?? null)
      if (changed.length > 0) updates.getOrInsertComputed(changed.join(), () => []).push([...values, id])
    } else if (made.words) {
      // Without facts, there is a note of the whole row, too.
      inserts.push(columns.map(name => made.facts[name] ?? null))
    }
  }
  for (const [changed, each] of updates) {
    const assignments = changed.split(',').map(name => `${name} = ?`)
    yield* rowsOf(`UPDATE ${facts} SET ${assignments.join(', ')} WHERE id = ?`, each)
  }
  yield* rowsOf(`INSERT INTO ${facts} (${names}) VALUES (${columns.map(() => '?').join(', ')})`, inserts)
  yield* rowsOf(`INSERT OR REPLACE INTO ${words} (rowid, words) VALUES (?, ?)`, texts)
  const gone = noted.filter(({ id }) => whole.has(id) && !rows.has(id))
  yield* rowsOf(`DELETE FROM ${facts} WHERE id = ?`, idsOf(gone))
  yield* rowsOf(`DELETE FROM ${words} WHERE rowid = ?`, idsOf(gone))
  if (whole.size > 0) yield* rowsOf(mergeOf(words), [[whole.size * MERGED_PAGES_PER_ROW]])
}

function idsOf(noted: readonly NotedPart[]): [id: number][] {
  return noted.map(({ id }) => [id])
}

function byId(rows: readonly NotedRow[]): Map<number, NotedRow> {
  return new Map(rows.map(row => [row.id, row]))
}
