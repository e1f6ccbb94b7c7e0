// Runs in a thread of its own. `thread.ts` imports it as text, so it imports no file of ours.
import { Database } from 'bun:sqlite'

const STATEMENTS_MAX = 64

/**
 * `counted_by(key, one, other, bounds)` counts rows by their key in one pass, where `GROUP BY` would sort them all first. `bounds` is JSON
 * of two arrays. Returns JSON with an array for each key: the key, the number of its rows, the least and the greatest `one`; for
 * each of the first bounds, how many rows have a lower `one`; and for each of the second, how many have an `other` at least as high.
 */
const COUNTED_BY = {
  start: () => ({ groups: new Map(), bounds: null }),
  step: (counted, key, one, other, bounds) => {
    counted.bounds ??= JSON.parse(bounds)
    const [ofOne, ofOther] = counted.bounds
    let group = counted.groups.get(key)
    if (group === undefined) {
      group = { number: 0, least: one, most: one, lower: ofOne.map(() => 0), asHigh: ofOther.map(() => 0) }
      counted.groups.set(key, group)
    }
    group.number += 1
    if (one < group.least) group.least = one
    if (one > group.most) group.most = one
    for (let at = 0; at < ofOne.length; at += 1) if (one < ofOne[at]) group.lower[at] += 1
    if (other === null) return
    for (let at = 0; at < ofOther.length; at += 1) if (other >= ofOther[at]) group.asHigh[at] += 1
  },
  result: ({ groups }) =>
    JSON.stringify(
      Array.from(groups, ([key, { number, least, most, lower, asHigh }]) => [
        key,
        number,
        least,
        most,
        ...lower,
        ...asHigh,
      ]),
    ),
}

const statements = new Map()
let database = null

self.onmessage = ({ data }) => {
  if (data === 'close') {
    database?.close(true)
    process.exit()
  }
  self.postMessage(answer(data))
}

function answer({ path, mode, pragmas, sql, each }) {
  try {
    database ??= open(path, mode, pragmas)
    const statement = prepared(sql)
    return { rows: each.flatMap(parameters => statement.all(...parameters)) }
  } catch ({ name, message, code, errno }) {
    return { error: { name, message, code, errno } }
  }
}

function open(path, mode, pragmas) {
  const opened = new Database(path, { ...mode, strict: true })
  try {
    for (const pragma of pragmas) opened.run(`PRAGMA ${pragma}`)
    opened.aggregate('counted_by', COUNTED_BY)
    return opened
  } catch (error) {
    opened.close(true)
    throw error
  }
}

/** Keeps the statements that were used last. */
function prepared(sql) {
  const statement = statements.get(sql) ?? database.prepare(sql)
  statements.delete(sql)
  statements.set(sql, statement)
  if (statements.size > STATEMENTS_MAX) {
    const [oldest] = statements.keys()
    statements.get(oldest).finalize()
    statements.delete(oldest)
  }
  return statement
}
