import { join } from 'node:path'
import { temporaryFolder } from './folder.ts'

export interface Engine {
  readonly name: string
  /** An empty database of its own, for one service. */
  readonly freshDatabase: () => Promise<AsyncDisposable & { readonly url: string }>
}

const sqlite: Engine = {
  name: 'SQLite',
  freshDatabase: async () => {
    const folder = temporaryFolder()
    return {
      url: `sqlite:${join(folder.path, 'stockroom.db')}`,
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    }
  },
}

/** All engines that must answer alike. */
export const ENGINES: readonly Engine[] = [sqlite]
