import { getLogger, type Logger } from '@logtape/logtape'
import type { CacheFigures } from './cached.ts'

const log = getLogger(['stockroom', 'cache'])

const INTERVAL_MS = 60_000

/** Logs the hits and misses of the cache: every minute at the level `debug`, and at the end. */
export function logCache(figures: () => CacheFigures | null): Disposable {
  const report = (write: Logger['info']) => {
    const { hits, misses, clears } = figures() ?? { hits: 0, misses: 0, clears: 0 }
    if (hits + misses > 0) write('{hits} hits, {misses} misses, cleared {clears} times', { hits, misses, clears })
  }
  const everyMinute = setInterval(() => report(log.debug.bind(log)), INTERVAL_MS)
  everyMinute.unref()
  return {
    [Symbol.dispose]: () => {
      clearInterval(everyMinute)
      report(log.info.bind(log))
    },
  }
}
