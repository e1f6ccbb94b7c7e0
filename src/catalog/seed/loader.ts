import type { StoredResource, Values } from '../storage/resource.ts'

/** Inserts rows, and resolves to their ids in the same order. Reports the number so far to `inserted`, now and then. */
type Insert = <Row extends Values>(
  resource: StoredResource<Row>,
  rows: Iterable<Row>,
  inserted: (count: number) => void,
) => Promise<number[]>

/** Loads a whole catalog at once, on either engine. */
export interface CatalogLoader {
  /**
   * Runs `work` in one transaction on an empty catalog, so all its rows are inserted or none. Resolves to false, and changes
   * nothing, if the catalog is not empty.
   */
  load(work: (insert: Insert) => Promise<void>): Promise<boolean>
}

/** A row that exists if the catalog is not empty. */
export const ANYTHING = `
  SELECT id FROM (SELECT id FROM categories UNION ALL SELECT id FROM products UNION ALL SELECT id FROM users) AS anything
  LIMIT 1`
