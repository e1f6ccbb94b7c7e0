import { Database } from 'bun:sqlite'
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { BENCH, NODE } from './catalog/servers.ts'
import { median } from './statistics.ts'

const SYNC_TRIALS = 100
const SYNC_BYTES = 4_096

/** One line about the machine: figures from different machines or engine versions are not comparable. */
export function machineLine(engines: readonly string[], directory: string): string {
  const [processor] = cpus()
  return [
    `${processor?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores`,
    ...engines,
    `fsync of ${SYNC_BYTES} bytes ${Math.round(syncMicroseconds(directory))} µs`,
  ].join('; ')
}

/** The runtimes, each with its SQLite. */
export function embeddedEngines(): string[] {
  const program = `
    const better = new (require('better-sqlite3'))(':memory:').prepare('SELECT sqlite_version()').pluck().get()
    const { node, sqlite } = process.versions
    console.log(\`Node \${node} (node:sqlite \${sqlite}, better-sqlite3 \${better})\`)`
  return [`Bun ${Bun.version} (bun:sqlite ${sqliteOfBun()})`, outputOfNode(program)]
}

/** The runtimes, for a database that is a server. */
export function runtimes(): string[] {
  return [`Bun ${Bun.version}`, outputOfNode("console.log('Node ' + process.versions.node)")]
}

function sqliteOfBun(): string {
  using database = new Database(':memory:')
  return database.query<{ version: string }, []>('SELECT sqlite_version() AS version').get()?.version ?? 'unknown'
}

function outputOfNode(program: string): string {
  const { stdout } = Bun.spawnSync([NODE, '--eval', program], { cwd: BENCH, stderr: 'ignore' })
  return stdout.toString().trim()
}

/** The least time of a durable write in the databases' folder. Near zero it is in memory, and writes tell little. */
function syncMicroseconds(directory: string): number {
  const path = join(directory, 'sync-trial')
  const file = openSync(path, 'w')
  const bytes = new Uint8Array(SYNC_BYTES)
  const durations = Array.from({ length: SYNC_TRIALS }, () => {
    writeSync(file, bytes)
    const start = performance.now()
    fsyncSync(file)
    return (performance.now() - start) * 1e3
  })
  closeSync(file)
  rmSync(path)
  return median(durations)
}
