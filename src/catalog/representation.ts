import type { Coding } from './compression.ts'

/** One resource as a response body. */
export interface Representation {
  /** The resource as JSON. */
  readonly json: string
  /** `null` if the nested array is complete, or if there is none. */
  readonly cut: Cut | null
  /** See `storage/revision.ts`. */
  readonly revision: number
  /** For a cached resource. */
  readonly kept?: Kept
}

/** Where a nested array was cut. */
export interface Cut {
  readonly shownItems: number
  /** The id of the last item shown. */
  readonly lastId: number
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
