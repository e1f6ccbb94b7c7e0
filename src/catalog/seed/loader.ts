import type { SampleCatalog } from './sample.ts'

/** What a store must do to take in a whole catalog at once. */
export interface CatalogLoader {
  /**
   * Writes all rows into an empty catalog in one transaction: either the whole of it is there afterwards, or nothing.
   * Resolves to false where the catalog is not empty, and then leaves it as it is.
   * `loaded` is called now and then with the kind of row at work and how many of it are written.
   */
  load(catalog: SampleCatalog, loaded: (kind: keyof SampleCatalog['sizes'], count: number) => void): Promise<boolean>
}

/** The id of the row that is at a place of the sample. */
export function idAt(ids: readonly number[], place: number | null): number | null {
  return place === null ? null : (ids[place] ?? null)
}
