import { Random } from './random.ts'
import KINDS from './vocabulary/kinds.json'
import PEOPLE from './vocabulary/people.json'
import REMARKS from './vocabulary/remarks.json'
import STYLES from './vocabulary/styles.json'

const SEED = 20_261_123
const PEOPLE_COUNT = 240
const REVIEWS_MAX = 140
/** A few products have most of the reviews, and a few have none. */
const POPULARITY = 6
/** The share of sentences that are about this kind of product, and not true of any product. */
const OF_KIND_SHARE = 0.6
/** How much dearer the next size is. */
const SIZE_FACTOR = 1.3

/** How often a review has each kind of sentence, some of them by its stars. */
const SHARE = {
  context: 0.35,
  praise: [0, 0, 0.5, 1, 1],
  more: [0, 0, 0, 0, 0.3],
  gripe: [1, 1, 1, 0.4, 0],
  verdict: 0.5,
}

export type GoodKind = (typeof KINDS)[number]
type Style = (typeof STYLES)[keyof typeof STYLES]

export interface Good {
  readonly kind: GoodKind
  readonly name: string
  readonly description: string
  readonly price: number
  /** The mean of its ratings, more or less. */
  readonly quality: number
  readonly reviews: number
}

export interface Opinion {
  readonly rating: number
  readonly comment: string
}

export const DEMO_CATEGORIES: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'Kitchen', description: 'Pans, knives and boards that outlast a kitchen' },
  { name: 'Coffee & Tea', description: 'For the first hour of the day' },
  { name: 'Garden', description: 'Tools for beds, pots and lawns' },
  { name: 'Workshop', description: 'For people who mend things' },
  { name: 'Outdoors', description: 'Nights under canvas, days on foot' },
  { name: 'Desk', description: 'Paper, pens and light' },
  { name: 'Home', description: 'Soft and warm things for rooms' },
  { name: 'Bath', description: 'Small comforts in the morning' },
]

/** Every kind in every style and size that it comes in, in no order that shows. */
export function goods(): Good[] {
  const random = new Random(SEED)
  const all = KINDS.flatMap(kind =>
    kind.styles.flatMap(name =>
      kind.sizes.map((size, place) => {
        const style = styleOf(name)
        return {
          kind,
          name: `${name} ${kind.kind}, ${size}`,
          description: [style.note, ...random.shuffled(kind.features).slice(0, 2)].join(' '),
          price: believable(kind.price * style.factor * SIZE_FACTOR ** place),
          quality: 4.8 - 1.7 * random.next() ** 2.5,
          reviews: Math.floor((REVIEWS_MAX + 1) * random.next() ** POPULARITY),
        }
      }),
    ),
  )
  return random.shuffled(all)
}

/** Reviewers, by the names that they give. */
export function people(): string[] {
  const random = new Random(SEED)
  const names = PEOPLE.first.flatMap(first => PEOPLE.last.map(last => `${first} ${last}`))
  return random.shuffled(names).slice(0, PEOPLE_COUNT)
}

/** An opinion that somebody might have about a product of this kind and quality. */
export function opinion({ kind, quality }: Good, random: Random): Opinion {
  const spread = (random.next() + random.next() + random.next() - 1.5) * 2
  const rating = Math.min(5, Math.max(1, Math.round(quality + spread)))
  // Remarks about any product are mixed with remarks about this kind.
  const oneOf = (ofKind: readonly string[], ofAll: readonly string[]) =>
    random.of(random.next() < OF_KIND_SHARE ? ofKind : ofAll)
  const praise = oneOf(kind.praise, REMARKS.praise)
  const more = random.of(REMARKS.praise.filter(other => other !== praise))
  const gripe = oneOf(kind.gripes, REMARKS.gripes)
  const sometimes = (share = 0, sentence: string) => (random.next() < share ? [sentence] : [])
  const sentences = [
    ...sometimes(SHARE.context, random.of(REMARKS.contexts)),
    ...sometimes(SHARE.praise[rating - 1], `${praise}.`),
    ...sometimes(SHARE.more[rating - 1], `${more}.`),
    ...sometimes(SHARE.gripe[rating - 1], rating > 3 ? `${gripe}, though.` : `${gripe}.`),
    ...sometimes(SHARE.verdict, random.of(REMARKS.verdicts[rating - 1] ?? [])),
  ]
  return { rating, comment: sentences.join(' ') }
}

/** A price as shops write it. */
export function believable(price: number): number {
  if (price < 20) return Math.round(price * 2) / 2
  return Math.round(price) - 0.1
}

/** The style of a product and its kind, as its name says; `null` for products of others. */
export function appearance(name: string): { readonly kind: GoodKind; readonly style: Style } | null {
  const [title = ''] = name.split(',')
  const kind = KINDS.find(candidate => title.endsWith(candidate.kind))
  return kind ? { kind, style: styleOf(title.slice(0, -kind.kind.length).trim()) } : null
}

function styleOf(name: string): Style {
  return Object.entries(STYLES).find(([known]) => known === name)?.[1] ?? STYLES.Stoneware
}
