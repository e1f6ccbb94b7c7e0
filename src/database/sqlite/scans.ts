import { type Awaitable, whenBothThere } from '../../awaitable.ts'
import type { FileCondition } from './condition.ts'
import { connectAgain, type Parameter, prepared, READ_BUSY_MS } from './connection.ts'

const PAGE_CACHE_KIB = 2_048

export type Scans = ReturnType<typeof openScans>

/**
 * Opens a separate connection for long lists. On the main one, their pages would displace frequently read pages from SQLite's
 * page cache, although each is read only once. `commitsOnDisk` waits until all commits so far are on the disk.
 */
export function openScans(path: string, condition: FileCondition, commitsOnDisk: () => Awaitable<void>) {
  condition.mustBeInPlace()
  const connection = connectAgain(path)
  connection.run(`PRAGMA cache_size = -${PAGE_CACHE_KIB}`)
  connection.run(`PRAGMA busy_timeout = ${READ_BUSY_MS}`)
  const dataVersion = connection.prepare('PRAGMA data_version')
  return {
    prepare: <Parameters extends Parameter[], Row = never>(sql: string) =>
      condition.reading(() => prepared<Parameters, Row>(connection, sql)),
    /** Runs `read` on a snapshot of all commits so far. Its result is there when they are on the disk. */
    snapshot: <Result>(read: () => Result): Awaitable<Result> => {
      const shown = () => {
        // The first statement takes the snapshot.
        dataVersion.get()
        return whenBothThere(commitsOnDisk(), read, (_, result) => result)
      }
      return condition.reading(() => {
        condition.mustHaveBeenInPlace()
        return connection.transaction(shown)()
      })
    },
    [Symbol.dispose]: () => connection.close(true),
  }
}
