// Runs in a thread of its own. `thread.ts` imports it as text, so it imports no file of ours.
import { Database } from 'bun:sqlite'

const STATEMENTS_MAX = 64

const statements = new Map()
let database = null

self.onmessage = ({ data }) => {
  if (data === 'close') {
    database?.close(true)
    process.exit()
  }
  self.postMessage(answer(data))
}

function answer({ path, mode, pragmas, sql, parameters }) {
  try {
    database ??= open(path, mode, pragmas)
    return { rows: prepared(sql).all(...parameters) }
  } catch ({ name, message, code, errno }) {
    return { error: { name, message, code, errno } }
  }
}

function open(path, mode, pragmas) {
  const opened = new Database(path, { ...mode, strict: true })
  try {
    for (const pragma of pragmas) opened.run(`PRAGMA ${pragma}`)
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
