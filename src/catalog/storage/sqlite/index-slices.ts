import type { Parameter, Prepared } from '../../../database/sqlite/connection.ts'
import type { SqliteDatabase } from '../../../database/sqlite/database.ts'
import type { IndexSlices, NotedRange } from '../index/catching-up.ts'
import { factsOf, INDEX_FORM, type NotedRow, notedRows, valueColumns, valueFacts } from '../index/facts.ts'
import type { IndexDescription, Values } from '../resource.ts'

/**
 * Limits on a slice: for how long it holds the write lock, how many rows it takes, and how many of their notes, since a row may
 * have thousands, such as a product with as many new reviews. A service takes few, because it does nothing else meanwhile;
 * a command takes many, because each commit of FTS5 costs as much as a hundred rows.
 */
const SLICES = { few: { ms: 5, rows: 32, notes: 1_024 }, many: { ms: 100, rows: 4_096, notes: 16_384 } }

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
  const notes = database.prepare<[count: number], Note>(
    `SELECT number, part, id FROM index_notes WHERE number > 0 ORDER BY number LIMIT ?`,
  )
  const forget = database.prepare<[numbers: string]>(
    'DELETE FROM index_notes WHERE number IN (SELECT value FROM json_each(?))',
  )
  const takers = new Map(indexes.flatMap(index => takersOf(database, index)))
  const merges = indexes.map(({ table, words }) => ({
    part: table,
    merge: database.prepare<[pages: number]>(`INSERT INTO ${words} (${words}, rank) VALUES ('merge', ?)`),
  }))
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
    take: count => {
      const seen = { numbersBefore, lastSeen }
      return database.write(() => {
        // With others that fail, this is rolled back and runs again, and may take fewer notes then.
        ;({ numbersBefore, lastSeen } = seen)
        const began = performance.now()
        const taken: NotedPart[] = []
        for (const row of notesOfRows(notes.iterate(SLICES[count].notes), SLICES[count].rows)) {
          takers.get(row.part)?.(row.id)
          taken.push(row)
          if (performance.now() - began > SLICES[count].ms) break
        }
        for (const { part, merge } of merges) {
          const rows = taken.filter(row => row.part === part).length
          if (rows > 0) merge.run(rows * MERGED_PAGES_PER_ROW)
        }
        forget.run(JSON.stringify(taken.flatMap(({ numbers }) => numbers)))
        // Before the writes that follow in this transaction.
        look()
        return 'taken'
      })
    },
    // In one transaction, this would save a third of the time, but nobody else could write meanwhile.
    rebuild: async () => {},
    built: () => database.write(() => void setForm.run(INDEX_FORM, 1)),
  }
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

/** For each part of which notes tell, the function that takes a row into the index as it is now, or out of it. */
function takersOf(database: SqliteDatabase, index: IndexDescription): [part: string, take: (id: number) => void][] {
  const { table, facts, words, values } = index
  const select = database.prepare<[id: number], NotedRow>(`SELECT ${notedRows(index)} WHERE owner.id = ?`)
  const columns = ['id', 'sort_name', 'beginning', ...Object.keys(valueColumns(index))]
  const change = changerOf(database, index, columns)
  const insert = database.prepare<Parameter[]>(
    `INSERT INTO ${facts} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const keepWords = database.prepare<[id: number, words: string]>(
    `INSERT OR REPLACE INTO ${words} (rowid, words) VALUES (?, ?)`,
  )
  const forget = database.prepare<[id: number]>(`DELETE FROM ${facts} WHERE id = ?`)
  const forgetWords = database.prepare<[id: number]>(`DELETE FROM ${words} WHERE rowid = ?`)
  const takeAll = (id: number) => {
    const row = select.get(id)
    if (row) {
      const made = factsOf(index, row)
      if (!change(id, made.facts)) insert.run(...columns.map(name => made.facts[name] ?? null))
      keepWords.run(id, made.words.join(' '))
    } else {
      forget.run(id)
      forgetWords.run(id)
    }
  }
  if (values === null) return [[table, takeAll]]
  const takeValues = (id: number) => {
    const row = select.get(id)
    // If the index has no facts yet, there is a note of the whole row, too.
    if (row) change(id, valueFacts(index, row))
  }
  return [
    [table, takeAll],
    [values, takeValues],
  ]
}

/**
 * Makes the function that changes the facts of a row, and returns whether there are any. It writes only what differs, because
 * each column has an index, whose pages are far apart.
 */
function changerOf(database: SqliteDatabase, { facts }: IndexDescription, columns: readonly string[]) {
  const select = database.prepare<[id: number], Values>(`SELECT ${columns.join(', ')} FROM ${facts} WHERE id = ?`)
  const updates = new Map<string, Prepared<Parameter[]>>()
  return (id: number, made: Values): boolean => {
    const before = select.get(id)
    if (!before) return false
    const changed = Object.keys(made).filter(name => made[name] !== before[name])
    if (changed.length === 0) return true
    const assignments = changed.map(name => `${name} = ?`).join(', ')
    const update = updates.getOrInsertComputed(assignments, () =>
      database.prepare(`UPDATE ${facts} SET ${assignments} WHERE id = ?`),
    )
    update.run(...changed.map(name => made[name] ?? null), id)
    return true
  }
}
