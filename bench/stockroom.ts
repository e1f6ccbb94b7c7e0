import { join } from 'node:path'

/** A version of Stockroom: a folder with its source and its dependencies. */
export interface Version {
  readonly name: string
  readonly root: string
}

/** The version that this bench is part of. */
export const WORKING_TREE: Version = { name: 'stockroom', root: join(import.meta.dir, '..') }

/** One of its commands, on the Bun that it comes with. */
export function commandOf({ root }: Version, ...words: string[]): string[] {
  return [join(root, 'node_modules', '.bin', 'bun'), join(root, 'src', 'cli.ts'), ...words]
}
