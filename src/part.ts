import type { Command } from './command.ts'
import type { Migrations } from './database/migrations.ts'
import type { Table } from './database/table.ts'

/** A part of the product. To remove it, delete its folder and its entry in `cli.ts`. */
export interface Part {
  readonly commands: readonly Command[]
  /** `null` for a part that stores nothing. */
  readonly storage: Storage | null
}

/** What a part stores in the database. */
export interface Storage {
  readonly migrations: Migrations
  /** Each table comes after those that it refers to. */
  readonly tables: readonly Table[]
}
