import type { CacheFigures } from '../../../src/catalog/storage/cache/cached.ts'
import type { Service } from '../service.ts'

type CacheCounts = Pick<CacheFigures, 'hits' | 'misses' | 'clears'>

/** The counts of the cache, from the log of a service that has stopped. */
export function cacheFigures(stopped: Service): CacheCounts {
  const line = stopped
    .errors()
    .split('\n')
    .find(text => text.includes('"logger":"cache"'))
  const { hits, misses, clears }: CacheCounts = JSON.parse(line ?? '{}')
  return { hits, misses, clears }
}
