import type { SampleCatalog } from './sample.ts'

/** What a store must do to take in a whole catalog at once. */
export interface CatalogLoader {
  /**
   * Writes all rows in one transaction: either the whole catalog is there afterwards, or nothing of it.
   * `loaded` is called now and then with the kind of row at work and how many of it are written.
   */
  load(catalog: SampleCatalog, loaded: (kind: keyof SampleCatalog['sizes'], count: number) => void): Promise<void>
}
