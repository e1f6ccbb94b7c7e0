import type { Migrations } from './database/migrations.ts'
import type { StoreDatabase } from './database/open.ts'
import type { Table } from './database/table.ts'
import type { Command } from './program/command.ts'
import type { Progress } from './program/progress.ts'

/** A part of the product. To remove it, delete its folder and its entry in `cli.ts`. */
export interface Part {
  readonly commands: readonly Command[]
  /** Loads the part's storage, which only commands that span all parts need. A part that stores nothing has none. */
  readonly storage?: () => Promise<Storage>
}

/** The part's tables in the database. */
export interface Storage {
  readonly migrations: Migrations
  /** Ordered so that each table comes after the tables it references. */
  readonly tables: readonly Table[]
  /** Called after a copy: makes what is not copied, because it follows from the tables. */
  readonly complete?: (database: StoreDatabase, shown: Progress) => Promise<void>
}
