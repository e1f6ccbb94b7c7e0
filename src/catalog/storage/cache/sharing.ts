import { type Awaitable, whenThere } from '../../../awaitable.ts'
import type { ChangeSource } from '../../../database/change.ts'
import { timed } from '../../../tracing/timeline.ts'
import type { ChangedPart } from './changed-parts.ts'
import type { ChangeVersions } from './versions.ts'

/** Which value it is, and everything that it depends on. */
export interface ValueKey {
  readonly key: string
  readonly dependencies: readonly ChangedPart[]
}

/**
 * Makes a function that reads values of one kind. While a value is read, others who want it share the read, unless one of the
 * parts has changed that it depends on. Otherwise the many clients who follow a change would wait for as many equal reads.
 */
export function sharing<Value>(
  source: ChangeSource,
  versions: ChangeVersions,
): (of: ValueKey, read: () => Awaitable<Value>) => Awaitable<Value> {
  const running = new Map<string, { readonly version: number; readonly value: Promise<Value> }>()
  return ({ key, dependencies }, read) => {
    const begin = () => {
      const version = versions.latest
      const value = read()
      if (!(value instanceof Promise)) return value
      const begun = { version, value }
      running.set(key, begun)
      const end = () => {
        if (running.get(key) === begun) running.delete(key)
      }
      value.then(end, end)
      return value
    }
    const join = () => {
      const other = running.get(key)
      if (!other || versions.haveChanged(dependencies, other.version)) return begin()
      return timed('waiting for an equal request', () => other.value)
    }
    if (!running.has(key)) return begin()
    return whenThere(source.current(join), value => value ?? begin())
  }
}
