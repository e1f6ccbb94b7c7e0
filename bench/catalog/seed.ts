import { commandOf, type Version } from '../stockroom.ts'

/** How many rows of each resource. Their ids count from 1. */
export interface Rows {
  readonly categories: number
  readonly products: number
  readonly users: number
  readonly reviews: number
}

/** A category shows some 28 products, and a product three reviews. */
export const USUAL: Rows = { categories: 180, products: 5_000, users: 200, reviews: 15_000 }

/** Enough products that each is read once only. */
export const LARGE: Rows = { categories: 180, products: 300_000, users: 200, reviews: 900_000 }

/** Fills a new database with the catalog that all servers start from. */
export async function seed(
  version: Version,
  databaseAddress: string,
  rows: Rows,
  interrupted: AbortSignal,
): Promise<void> {
  const amounts = Object.entries(rows).flatMap(([table, amount]) => [`--${table}`, String(amount)])
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
