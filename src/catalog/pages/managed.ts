import { z } from '@hono/zod-openapi'
import { CATEGORIES } from '../categories/stored.ts'
import { Rating } from '../products/schema.ts'
import { PRODUCTS } from '../products/stored.ts'
import type { Repositories } from '../repositories.ts'
import { REVIEWS } from '../reviews/stored.ts'
import { USERS } from '../users/stored.ts'
import { PageList } from './lists.ts'

/** A row shows this much of a comment. */
export const COMMENT_SHOWN_CHARACTERS = 500

const ProductItem = z.object({
  id: z.int(),
  name: z.string(),
  price: z.number(),
  category_id: z.int().nullable(),
  rating: Rating,
})
const CategoryItem = z.object({ id: z.int(), name: z.string(), description: z.string() })
const flag = z.int()
const UserItem = z.object({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  is_active: flag,
  is_admin: flag,
  is_banned: flag,
  is_blocked: flag,
  is_deleted: flag,
  is_suspended: flag,
  is_verified: flag,
})
const FullReview = z.object({
  id: z.int(),
  product_id: z.int(),
  user_id: z.int(),
  rating: z.int(),
  comment: z.string(),
})
/** One character more than a row shows tells that there is more. */
const ReviewItem = FullReview.extend({
  comment: z.string().transform(text => text.slice(0, COMMENT_SHOWN_CHARACTERS + 1)),
})

export type ProductItem = z.output<typeof ProductItem>
export type CategoryItem = z.output<typeof CategoryItem>
export type UserItem = z.output<typeof UserItem>
export type ReviewItem = z.output<typeof FullReview>

export type ManagedLists = ReturnType<typeof listsOf>

/** The lists of the pages, and their resources one by one. */
export function listsOf({ products, categories, users, reviews }: Repositories) {
  return {
    products: new PageList(PRODUCTS, products, ProductItem),
    wholeProducts: new PageList(PRODUCTS, products, ProductItem.extend({ description: z.string() })),
    categories: new PageList(CATEGORIES, categories, CategoryItem),
    users: new PageList(USERS, users, UserItem),
    wholeUsers: new PageList(USERS, users, UserItem.extend({ avatar: z.string() })),
    userNames: new PageList(USERS, users, z.object({ id: z.int(), name: z.string() })),
    reviews: new PageList(REVIEWS, reviews, ReviewItem),
    wholeReviews: new PageList(REVIEWS, reviews, FullReview),
  }
}

/** A field of a form. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'line' | 'text' | 'price' | 'password' | 'flag'
  readonly hint?: string
  readonly min?: number
  readonly max?: number
}

/** A kind of resource that has a form. */
export interface ManagedKind {
  /** The path of its collection in the interface, and the name of its member in the routes there. */
  readonly path: 'products' | 'categories' | 'users'
  readonly parameter: string
  readonly method: 'PUT' | 'PATCH'
  /** What people call one of them, and the list. */
  readonly noun: string
  readonly title: string
  /** The path of its list on the admin page. */
  readonly list: string
  readonly fields: readonly Field[]
}

const NAME: Field = { name: 'name', label: 'Name', kind: 'line', min: 3, max: 50 }

export const KINDS = {
  products: {
    path: 'products',
    parameter: 'product_id',
    method: 'PUT',
    noun: 'product',
    title: 'Products',
    list: '/admin/',
    fields: [
      NAME,
      { name: 'price', label: 'Price', kind: 'price', hint: 'In USD' },
      { name: 'description', label: 'Description', kind: 'text' },
    ],
  },
  categories: {
    path: 'categories',
    parameter: 'category_id',
    method: 'PUT',
    noun: 'category',
    title: 'Categories',
    list: '/admin/categories/',
    fields: [NAME, { name: 'description', label: 'Description', kind: 'line', min: 3, max: 50 }],
  },
  users: {
    path: 'users',
    parameter: 'user_id',
    method: 'PATCH',
    noun: 'user',
    title: 'Users',
    list: '/admin/users/',
    fields: [
      NAME,
      { name: 'email', label: 'E-mail', kind: 'line', min: 3, max: 50 },
      { name: 'avatar', label: 'Avatar', kind: 'line', hint: 'The address of a picture, or any text' },
      { name: 'password', label: 'New password', kind: 'password', hint: 'Leave it empty to keep the current one' },
      ...['active', 'verified', 'admin', 'suspended', 'blocked', 'banned', 'deleted'].map(
        flag => ({ name: `is_${flag}`, label: flag, kind: 'flag' }) as const,
      ),
    ],
  },
} as const satisfies Record<string, ManagedKind>
