import { commandOf, type Version } from '../stockroom.ts'

const ROWS = { categories: 20, products: 5_000, users: 200, reviews: 15_000 }

/** Fills a new database with the catalog that all servers start from. */
export async function seed(version: Version, databaseAddress: string, interrupted: AbortSignal): Promise<void> {
  const amounts = Object.entries(ROWS).flatMap(([table, amount]) => [`--${table}`, String(amount)])
  const seeding = Bun.spawn(commandOf(version, 'seed', '--database', databaseAddress, ...amounts), {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    signal: interrupted,
  })
  const [complaint, status] = await Promise.all([seeding.stderr.text(), seeding.exited])
  interrupted.throwIfAborted()
  if (status !== 0) throw new Error(`the database could not be seeded: ${complaint.trim()}`)
}
