import { z } from '@hono/zod-openapi'
import { CATEGORIES } from '../categories/stored.ts'
import { EmbeddedReview } from '../http/nested.ts'
import { Rating } from '../products/schema.ts'
import { PRODUCTS } from '../products/stored.ts'
import type { Repositories } from '../repositories.ts'
import { REVIEWS } from '../reviews/stored.ts'
import { FLAGS } from '../users/schema.ts'
import { USERS } from '../users/stored.ts'
import { pageList } from './lists.ts'

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
const UserItem = z.object({ id: z.int(), name: z.string(), email: z.string(), ...FLAGS })
/** One character more than a row shows tells that there is more. A slice alone would keep the whole text in memory; a copy does not. */
const ReviewItem = EmbeddedReview.extend({
  comment: z.string().transform(text => Buffer.from(text.slice(0, COMMENT_SHOWN_CHARACTERS + 1)).toString()),
})

export type ProductItem = z.output<typeof ProductItem>
export type CategoryItem = z.output<typeof CategoryItem>
export type UserItem = z.output<typeof UserItem>
export type ReviewItem = z.output<typeof EmbeddedReview>

export type ManagedLists = ReturnType<typeof listsOf>

/** The lists of the pages, and their resources one by one. */
export function listsOf({ products, categories, users, reviews }: Repositories) {
  const namedCategories = pageList(CATEGORIES, categories, CategoryItem)
  return {
    products: pageList(PRODUCTS, products, ProductItem),
    categories: namedCategories,
    users: pageList(USERS, users, UserItem),
    reviews: pageList(REVIEWS, reviews, ReviewItem),
    /** With the texts that may be long, which only the page of one resource shows. */
    whole: {
      products: pageList(PRODUCTS, products, ProductItem.extend({ description: z.string() })),
      categories: namedCategories,
      users: pageList(USERS, users, UserItem.extend({ avatar: z.string() })),
      reviews: pageList(REVIEWS, reviews, EmbeddedReview),
    },
  }
}

/** The lists by their names in the interface, with what people call one item. */
export const LISTS = {
  products: { path: '/admin/', title: 'Products', noun: 'product' },
  categories: { path: '/admin/categories/', title: 'Categories', noun: 'category' },
  users: { path: '/admin/users/', title: 'Users', noun: 'user' },
  reviews: { path: '/admin/reviews/', title: 'Reviews', noun: 'review' },
} as const

export type ListName = keyof typeof LISTS

/** The route of the interface for one item of a list. */
export function itemRoute(list: ListName): string {
  return `/${list}/:${LISTS[list].noun}_id`
}

/** A field of a form. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: 'line' | 'text' | 'price' | 'password' | 'flag'
  readonly hint?: string
  /** Whether it must have 3 to 50 characters. */
  readonly isBounded?: boolean
}

/** A kind of resource that has a form. */
export interface ManagedKind {
  readonly list: 'products' | 'categories' | 'users'
  readonly method: 'PUT' | 'PATCH'
  readonly fields: readonly Field[]
}

const NAME: Field = { name: 'name', label: 'Name', kind: 'line', isBounded: true }

export const KINDS = {
  products: {
    list: 'products',
    method: 'PUT',
    fields: [
      NAME,
      { name: 'price', label: 'Price', kind: 'price', hint: 'In USD' },
      { name: 'description', label: 'Description', kind: 'text' },
    ],
  },
  categories: {
    list: 'categories',
    method: 'PUT',
    fields: [NAME, { name: 'description', label: 'Description', kind: 'line', isBounded: true }],
  },
  users: {
    list: 'users',
    method: 'PATCH',
    fields: [
      NAME,
      { name: 'email', label: 'E-mail', kind: 'line', isBounded: true },
      { name: 'avatar', label: 'Avatar', kind: 'line', hint: 'The address of a picture, or any text' },
      { name: 'password', label: 'New password', kind: 'password', hint: 'Leave it empty to keep the current one' },
      ...['active', 'verified', 'admin', 'suspended', 'blocked', 'banned', 'deleted'].map(
        flag => ({ name: `is_${flag}`, label: flag, kind: 'flag' }) as const,
      ),
    ],
  },
} as const satisfies Record<string, ManagedKind>
