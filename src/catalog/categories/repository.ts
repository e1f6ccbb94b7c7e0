import type { Listing } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import type { Category, CategoryCreate } from './schema.ts'

/** What a store of categories must do. `null` stands for what does not exist; a write is on the disk when it resolves. */
export interface CategoryRepository {
  all(): Listing
  find(id: number): Promise<Representation | null>
  create(category: CategoryCreate): Promise<Category>
  update(id: number, category: CategoryCreate): Promise<Representation | null>
  /** Deletes the category and leaves its products without one; resolves to what it was. */
  delete(id: number): Promise<Representation | null>
}
