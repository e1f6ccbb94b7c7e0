import type { Coding } from './compression.ts'

/** Values that are derived from a resource or a page. */
interface Derived {
  /** See `entity-tag.ts`. */
  version?: string
  compressed?: { readonly [Name in Coding]?: Uint8Array<ArrayBuffer> }
  /** The body of a page. */
  json?: string
  /** The `Link` header of a page, for the request's URL. */
  link?: { readonly url: string; readonly value: string | undefined }
}

const derived = new WeakMap<object, Derived>()

/** The values derived from a resource or a page so far. They last as long as the cache keeps that object. */
export function derivedFrom(source: object): Derived {
  const known = derived.get(source)
  if (known) return known
  const first: Derived = {}
  derived.set(source, first)
  return first
}
