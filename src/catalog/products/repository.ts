import type { Listing } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import type { Product, ProductCreate } from './schema.ts'

/** What a store of products must do. `null` stands for what does not exist; a write is on the disk when it resolves. */
export interface ProductRepository {
  all(): Listing
  inCategory(categoryId: number): Listing
  find(id: number): Promise<Representation | null>
  create(product: ProductCreate): Promise<Product>
  /** `null` when there is no such category. */
  createInCategory(categoryId: number, product: ProductCreate): Promise<Product | null>
  update(id: number, product: ProductCreate): Promise<Representation | null>
  /** Deletes the product with its reviews; resolves to what it was. */
  delete(id: number): Promise<Representation | null>
}
