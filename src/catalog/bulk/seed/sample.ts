import { base, en, Faker } from '@faker-js/faker'
import type { CategoryRow } from '../../categories/stored.ts'
import type { ProductRow } from '../../products/stored.ts'
import type { ReviewRow } from '../../reviews/stored.ts'
import type { UserRow } from '../../users/stored.ts'
import COMMENTS from './comments.json'

export interface SampleSizes {
  readonly categories: number
  readonly products: number
  readonly users: number
  readonly reviews: number
}

/** The same sizes always give the same catalog. */
const SEED = 20_250_101

const NAME_MAX_CHARACTERS = 50

/** Exponent that gives a few products most of the reviews. */
const POPULARITY = 2

/** Ratings of one to five stars, weighted by how often they are given. */
const RATINGS = [
  { value: 1, weight: 5 },
  { value: 2, weight: 6 },
  { value: 3, weight: 14 },
  { value: 4, weight: 32 },
  { value: 5, weight: 43 },
]

export function* sampleCategories(sizes: SampleSizes): Iterable<CategoryRow> {
  const faker = generator(1)
  const names = new Set<string>()
  while (names.size < sizes.categories) {
    const department = faker.commerce.department()
    // There are about twenty departments. Further names get an adjective and, before those run out, a number.
    const qualified = names.size < 20 ? department : `${faker.commerce.productAdjective()} ${department}`
    const name = names.size < 300 ? qualified : `${department} ${names.size + 1}`
    if (names.has(name)) continue
    names.add(name)
    yield { name, description: `${faker.commerce.productAdjective()} things for ${department.toLowerCase()}` }
  }
}

export function* sampleProducts(sizes: SampleSizes, categoryIds: readonly number[]): Iterable<ProductRow> {
  const faker = generator(2)
  for (let place = 0; place < sizes.products; place += 1) {
    yield {
      name: faker.commerce.productName().slice(0, NAME_MAX_CHARACTERS),
      description: faker.commerce.productDescription(),
      price: Number(faker.commerce.price({ min: 1, max: 500 })),
      category_id: sizes.categories === 0 ? null : (categoryIds[faker.number.int(sizes.categories - 1)] ?? null),
    }
  }
}

export function* sampleUsers(sizes: SampleSizes, passwordHash: string): Iterable<UserRow> {
  const faker = generator(3)
  for (let place = 0; place < sizes.users; place += 1) {
    const firstName = faker.person.firstName()
    const lastName = faker.person.lastName()
    yield {
      name: `${firstName} ${lastName}`.slice(0, NAME_MAX_CHARACTERS),
      email: `${plainLetters(firstName)}.${plainLetters(lastName)}${place + 1}@mail.example`.slice(
        -NAME_MAX_CHARACTERS,
      ),
      avatar: avatar(`${firstName.charAt(0)}${lastName.charAt(0)}`, faker.number.int(359)),
      password_hash: passwordHash,
      is_active: 1,
      is_admin: place === 0 ? 1 : 0,
      is_banned: 0,
      is_blocked: 0,
      is_deleted: 0,
      is_suspended: 0,
      is_verified: faker.datatype.boolean(0.8) ? 1 : 0,
    }
  }
}

export function* sampleReviews(
  sizes: SampleSizes,
  productIds: readonly number[],
  userIds: readonly number[],
): Iterable<ReviewRow> {
  const faker = generator(4)
  for (let place = 0; place < sizes.reviews; place += 1) {
    const rating = faker.helpers.weightedArrayElement(RATINGS)
    const verdict = faker.helpers.arrayElement(COMMENTS.verdicts[rating - 1] ?? [])
    yield {
      product_id: productIds[Math.floor(sizes.products * faker.number.float() ** POPULARITY)] ?? 0,
      user_id: userIds[faker.number.int(sizes.users - 1)] ?? 0,
      rating,
      comment: `${verdict} ${faker.helpers.arrayElement(COMMENTS.circumstances)}`,
    }
  }
}

/** Each kind of row has its own random sequence, so that the number of one does not change the others. */
function generator(kind: number): Faker {
  const faker = new Faker({ locale: [en, base] })
  faker.seed(SEED + kind)
  return faker
}

function plainLetters(name: string): string {
  return name
    .normalize('NFD')
    .replaceAll(/[^A-Za-z]/g, '')
    .toLowerCase()
}

/** A picture that needs no other server: a colored square with initials. */
function avatar(initials: string, hue: number): string {
  return `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><rect width='8' height='8' fill='hsl(${hue} 50%25 40%25)'/><text x='4' y='5.2' font-size='3.6' text-anchor='middle' fill='white'>${initials}</text></svg>`
}
