import type { StoredResource, Values } from '../storage/resource.ts'

/** Inserts rows, and resolves to their ids in the same order. `inserted` is called now and then with the count so far. */
type Insert = <Row extends Values>(
  resource: StoredResource<Row>,
  rows: Iterable<Row>,
  inserted: (count: number) => void,
) => Promise<number[]>

/** How an engine takes in a whole catalog at once. */
export interface CatalogLoader {
  /**
   * Does `work` in one transaction on an empty catalog: all that it inserts is there afterwards, or nothing. Resolves to
   * false if the catalog is not empty, and then leaves it as it is.
   */
  load(work: (insert: Insert) => Promise<void>): Promise<boolean>
}

/** A row that exists if the catalog is not empty. */
export const ANYTHING = `
  SELECT id FROM (SELECT id FROM categories UNION ALL SELECT id FROM products UNION ALL SELECT id FROM users) AS anything
  LIMIT 1`
