/** A collection's name. */
export type Kind = 'categories' | 'products' | 'users' | 'reviews'

/** The resource that a parameter or a member refers to, by its name. */
export const REFERENCES: Readonly<Record<string, Kind>> = {
  category_id: 'categories',
  product_id: 'products',
  user_id: 'users',
  review_id: 'reviews',
}

/** Ids that no resource ever gets. */
const ABSENT = ['0', '-1', '-9007199254740991', '9007199254740991', '9007199254740990', '7000000000000000']

/** A placeholder for an id that exists when the request is sent, or for one that never does. */
export function reference(kind: Kind | 'absent', choice: number): string {
  return `{{${kind}:${choice}}}`
}

const PLACEHOLDER = /\{\{(categories|products|users|reviews|absent):(\d+)\}\}/g

/** A placeholder for an id that is above all so far when the request is sent, unless another worker's request overtakes it. */
export const NEW_ID = '{{new}}'

/** Above the integers that are members by chance. */
const NEW_IDS_FROM = 2 ** 40
/** More rows than others create in the meantime. */
const NEW_IDS_STEP = 1_000

interface Review {
  readonly id: number
  readonly productId: number
  readonly userId: number
}

/** Requests for existing resources name only those that the same worker has created, so that no other one deletes them. */
export class Pool {
  static #newId = NEW_IDS_FROM
  readonly #ids: Record<Exclude<Kind, 'reviews'>, number[]> = { categories: [], products: [], users: [] }
  #reviews: Review[] = []

  /** Replaces placeholders; tells whether all ids in the text exist. */
  filled(text: string): { text: string; exist: boolean } {
    let exist = true
    const filled = text.replace(PLACEHOLDER, (_, kind: Kind | 'absent', choice: string) => {
      const ids = kind === 'absent' ? [] : this.ids(kind)
      if (ids.length > 0) return String(ids[Number(choice) % ids.length])
      exist = false
      return ABSENT[Number(choice) % ABSENT.length] ?? '0'
    })
    const numbered = filled.replaceAll(NEW_ID, () => {
      Pool.#newId += NEW_IDS_STEP
      return String(Pool.#newId)
    })
    return { text: numbered, exist }
  }

  ids(kind: Kind): readonly number[] {
    return kind === 'reviews' ? this.#reviews.map(({ id }) => id) : this.#ids[kind]
  }

  add(kind: Exclude<Kind, 'reviews'>, id: number): void {
    this.#ids[kind].push(id)
  }

  addReview(review: Review): void {
    this.#reviews = [...this.#reviews.filter(({ id }) => id !== review.id), review]
  }

  /** Forgets a resource, and the reviews that are deleted with it. */
  remove(kind: Kind, id: number): void {
    if (kind !== 'reviews') this.#ids[kind] = this.#ids[kind].filter(other => other !== id)
    this.#reviews = this.#reviews.filter(review => {
      if (kind === 'products') return review.productId !== id
      return kind === 'users' ? review.userId !== id : kind === 'categories' || review.id !== id
    })
  }
}
