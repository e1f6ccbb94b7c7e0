import type { Coding } from './compression.ts'

/** One resource as a response body. */
export interface Representation {
  /** The resource as JSON; for a heavy one, only the beginning. */
  readonly json: string
  /** The id of the last item if the nested array was cut; `null` if it is complete, or if there is none. */
  readonly cutAfterId: number | null
  /** See `storage/revision.ts`. */
  readonly revision: number
  /** For a heavy resource: reads the rest, piece by piece. */
  readonly rest?: () => AsyncIterable<string>
  /** For a resource that is held in memory: call it when nobody reads any further. */
  readonly release?: () => void
  /** For a cached resource. */
  readonly kept?: Kept
}

/** Values derived from a resource or a page, cached as long as it does not change. */
export interface Kept {
  /** See `entity-tag.ts`. */
  version?: string
  compressed?: { readonly [Name in Coding]?: Uint8Array<ArrayBuffer> }
  /** The body of a page. */
  json?: string
  /** The `Link` header of a page, for the request's URL. */
  link?: { readonly url: string; readonly value: string | undefined }
}
