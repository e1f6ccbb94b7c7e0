import type { Listing } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import type { ReviewCreate } from './schema.ts'

/** A review that was to be written, and what it refers to that does not exist; of two, the product. */
export interface AbsentReference {
  readonly absent: 'Product' | 'User'
}

/** What a store of reviews must do. `null` stands for what does not exist; a write is on the disk when it resolves. */
export interface ReviewRepository {
  all(): Listing
  ofProduct(productId: number): Listing
  ofUser(userId: number): Listing
  ofProductAndUser(productId: number, userId: number): Listing
  find(id: number): Promise<Representation | null>
  create(review: ReviewCreate): Promise<Representation | AbsentReference>
  update(id: number, review: ReviewCreate): Promise<Representation | AbsentReference | null>
  /** Resolves to what it was. */
  delete(id: number): Promise<Representation | null>
}
