import { join } from 'node:path'

/** A version of Stockroom: a folder with its source and dependencies. */
export interface Version {
  readonly name: string
  readonly root: string
  /** Variables for its servers, besides those of the bench. */
  readonly settings?: Readonly<Record<string, string>>
}

/** The version that this bench belongs to. */
export const WORKING_TREE: Version = { name: 'stockroom', root: join(import.meta.dir, '..') }

/** Runs one of its commands on its own Bun. */
export function commandOf({ root }: Version, ...words: string[]): string[] {
  return [join(root, 'node_modules', '.bin', 'bun'), join(root, 'src', 'cli.ts'), ...words]
}
