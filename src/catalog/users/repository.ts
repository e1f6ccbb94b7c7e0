import type { Listing } from '../lists/listing.ts'
import type { Representation } from '../representation.ts'
import type { Flags, User, UserUpdate } from './schema.ts'

export interface NewUser extends Omit<UserUpdate, 'password' | keyof Flags>, Flags {
  readonly passwordHash: string
}

/** Flags that are left out keep their values. */
interface ChangedUser extends Omit<UserUpdate, 'password'> {
  /** `null` keeps the stored one. */
  readonly passwordHash: string | null
}

/** What a store of users must do. `null` stands for what does not exist; a write is on the disk when it resolves. */
export interface UserRepository {
  all(): Listing
  exists(id: number): Promise<boolean>
  find(id: number): Promise<Representation | null>
  create(user: NewUser): Promise<User>
  update(id: number, user: ChangedUser): Promise<Representation | null>
  /** Deletes the user with their reviews; resolves to what they were. */
  delete(id: number): Promise<Representation | null>
}
