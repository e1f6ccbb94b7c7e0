import type { CacheFigures } from '../../../src/catalog/storage/cache/cached.ts'
import type { Service } from '../service.ts'

/** The counts of the cache, from the log of a service that has stopped. */
export function cacheFigures(stopped: Service): CacheFigures {
  const line = stopped
    .errors()
    .split('\n')
    .find(text => text.includes('"logger":"cache"'))
  const { hits, misses, clears }: CacheFigures = JSON.parse(line ?? '{}')
  return { hits, misses, clears }
}
