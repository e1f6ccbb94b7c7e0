import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { execute } from '../command.ts'
import { commandOf, type Version } from '../stockroom.ts'
import { type Random, randomNumbers } from './random.ts'
import { type Vocabulary, vocabulary, zipf } from './vocabulary.ts'

export const CATEGORIES = 100
export const USERS = 10_000
const NAME_MAX_CHARACTERS = 50
const SEED = 7

/** Of all products, in percent. */
const WITHOUT_CATEGORY = 2

const DEPARTMENTS = ['Garden', 'Kitchen', 'Office', 'Sports', 'Toys', 'Music', 'Travel', 'Bath', 'Bedroom', 'Workshop']
const KINDS = [
  'Basics',
  'Furniture',
  'Tools',
  'Textiles',
  'Storage',
  'Lighting',
  'Gifts',
  'Electronics',
  'Care',
  'Sale',
]

export interface ProductLine {
  readonly id: number
  readonly name: string
  readonly description: string
  readonly price: number
  readonly category_id: number | null
}

export interface ReviewLine {
  readonly id: number
  readonly product_id: number
  readonly user_id: number
  readonly rating: number
  readonly comment: string
}

/** A catalog as NDJSON files, the same for the same number of products. */
export interface CatalogFiles {
  readonly folder: string
  readonly products: number
  readonly reviews: number
  readonly words: Vocabulary
}

/** As many reviews as products, most of them of a few products. */
export async function writeCatalog(folder: string, products: number, interrupted: AbortSignal): Promise<CatalogFiles> {
  await mkdir(folder, { recursive: true })
  const random = randomNumbers(SEED)
  const words = vocabulary(random)
  const productLine = productLines(words, random)
  const reviewLine = reviewLines(products, random)
  const write = async (resource: string, count: number, line: (id: number) => object) => {
    const file = Bun.file(join(folder, `${resource}.ndjson`)).writer({ highWaterMark: 1_048_576 })
    for (let id = 1; id <= count; id++) {
      file.write(`${JSON.stringify(line(id))}\n`)
      if (id % 10_000 === 0) {
        interrupted.throwIfAborted()
        await file.flush()
      }
    }
    await file.end()
  }
  await write('categories', CATEGORIES, categoryLine)
  await write('products', products, productLine)
  await write('users', USERS, userLine)
  await write('reviews', products, reviewLine)
  return { folder, products, reviews: products, words }
}

/** Stores all files with the version's own command. */
export async function importCatalog(
  version: Version,
  { folder }: CatalogFiles,
  databaseAddress: string,
  interrupted: AbortSignal,
): Promise<void> {
  await execute(commandOf(version, 'import', '--database', databaseAddress, folder), folder, interrupted)
}

/** Makes products of believable names, descriptions and prices. */
export function productLines(words: Vocabulary, random: Random): (id: number) => ProductLine {
  const brand = zipf(words.brands, random)
  const adjective = zipf(words.adjectives, random)
  const material = zipf(words.materials, random)
  const thing = zipf(words.things, random)
  const word = zipf(words.text, random)
  const text = (least: number, most: number) =>
    Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, word).join(' ')
  return id => {
    const [kind, made] = [thing(), material()]
    const parts = [random() < 0.5 ? brand() : '', random() < 0.7 ? adjective() : '', made, kind]
    const model = random() < 0.3 ? String(100 + Math.floor(random() * 900)) : ''
    const name = capitalized([...parts, model].filter(part => part !== '').join(' ')).slice(0, NAME_MAX_CHARACTERS)
    // Prices are spread over four orders of magnitude, and most end in .99 or .50.
    const whole = Math.floor(10 ** (random() * 3.3))
    return {
      id,
      name,
      description: `${capitalized(text(6, 14))}. The ${made} ${kind} ${text(6, 24)}.`,
      price: whole + (random() < 0.6 ? 0.99 : 0.5),
      category_id: random() * 100 < WITHOUT_CATEGORY ? null : 1 + Math.floor(CATEGORIES * random() ** 2),
    }
  }
}

function reviewLines(products: number, random: Random): (id: number) => ReviewLine {
  return id => {
    const product = 1 + ((Math.floor(products * random() ** 3) * 7_919) % products)
    // Each product has a quality of its own, from 2 to 5.
    const quality = 2 + (product % 31) / 10
    return {
      id,
      product_id: product,
      user_id: 1 + Math.floor(random() * USERS),
      rating: Math.min(5, Math.max(1, Math.round(quality + (random() - 0.5) * 3))),
      comment: 'Well made and handy. It came after two days.',
    }
  }
}

function categoryLine(id: number) {
  const [department, kind] = [DEPARTMENTS[(id - 1) % 10], KINDS[Math.floor((id - 1) / 10)]]
  return { id, name: `${department} ${kind}`, description: `${kind} for ${department}` }
}

/** The password is the mask, so that none is hashed. */
function userLine(id: number) {
  const address = `somebody.${id}@mail.example`
  const avatar = `https://images.example/${id}`
  return { id, name: `Somebody ${id}`, email: address, avatar, password: '**********' }
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
