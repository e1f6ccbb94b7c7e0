import { en } from '@faker-js/faker'
import type { Random } from './random.ts'

/** Words of all kinds of things that shops sell, most frequent first. */
const THINGS =
  `chair table lamp shirt shoes bag bottle knife bench mug shelf blanket pillow towel jacket spade rake hammer drill ladder
  candle mirror rug curtain basket bowl plate fork spoon kettle teapot pan pot oven grill fridge fan heater clock watch ring
  necklace belt scarf hat gloves socks boots sandals dress skirt trousers coat umbrella backpack suitcase wallet notebook pen
  pencil eraser ruler scissors stapler folder desk printer keyboard mouse monitor speaker headphones camera tripod charger cable
  battery torch lantern tent sleepingbag hammock stove compass rope helmet bicycle tyre pump lock bell saddle scooter skateboard
  football racket dumbbell mat kite puzzle doll train blocks drum guitar violin flute easel brush canvas paint yarn needle thimble
  thermos trowel secateurs wheelbarrow birdhouse planter wateringcan hose sprinkler gazebo parasol doormat coaster trivet`.split(
    /\s+/,
  )

const ADJECTIVES =
  `small large light compact classic modern soft sturdy folding portable round square long short warm cool bright dark quiet smart
  simple elegant handmade organic recycled waterproof insulated adjustable rustic vintage slim wide deep flat striped spotted
  plain glossy matt ergonomic luxurious reversible stackable foldable magnetic cordless rechargeable`.split(/\s+/)

const MATERIALS =
  `steel oak cotton wool leather glass plastic wooden bamboo linen ceramic rubber copper brass pine ash walnut silk felt cork marble
  granite paper iron titanium aluminium porcelain velvet canvas denim`.split(/\s+/)

const SMALL_WORDS =
  `the and with a of for in to is it on this from or as by that your at are not be you can its has so all one made more our which
  will but each when also into than out any up no was very well every without two after they only if have then most use`.split(
    /\s+/,
  )

/** Rare words of descriptions, besides those that a dictionary has. */
const COMPOUNDS = 30_000

/** Positions of the typed words in a list of words: 0 is its most frequent word, 1 its rarest. */
const TYPED_PLACES = [0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.95]

/** Lists of words, each ordered from frequent to rare. */
export interface Vocabulary {
  readonly brands: readonly string[]
  readonly adjectives: readonly string[]
  readonly materials: readonly string[]
  readonly things: readonly string[]
  /** All words of descriptions, those above among them. */
  readonly text: readonly string[]
}

/** The same words in the same order for the same random numbers. */
export function vocabulary(random: Random): Vocabulary {
  const brands = shuffled([...new Set(en.person?.last_name?.generic ?? [])], random)
  const dictionary = [en.word?.noun, en.word?.adjective, en.word?.verb].flatMap(words => words ?? []).map(lowerCase)
  const short = dictionary.filter(word => /^[a-z]{3,6}$/.test(word))
  const compounds = Array.from({ length: COMPOUNDS }, () => picked(short, random) + picked(short, random))
  const known = [...ADJECTIVES, ...MATERIALS, ...THINGS, ...dictionary]
  return {
    brands,
    adjectives: ADJECTIVES,
    materials: MATERIALS,
    things: THINGS,
    text: [...new Set([...SMALL_WORDS, ...shuffled(known, random), ...compounds])],
  }
}

/** The words at those positions, for somebody to type. */
export function typedWords(words: readonly string[]): string[] {
  const typed = TYPED_PLACES.flatMap(place => words[Math.floor(place * (words.length - 1))] ?? [])
  return [...new Set(typed)]
}

/** Draws from a list with Zipf's distribution: the word at place n is n times as rare as the first. */
export function zipf<Item>(items: readonly Item[], random: Random): () => Item {
  const sums = new Float64Array(items.length)
  let sum = 0
  for (let place = 0; place < items.length; place++) {
    sum += 1 / (place + 1)
    sums[place] = sum
  }
  return () => {
    const drawn = random() * sum
    let [low, high] = [0, items.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < drawn) low = middle + 1
      else high = middle
    }
    return itemAt(items, low)
  }
}

function lowerCase(word: string): string {
  return word.toLowerCase()
}

function picked<Item>(items: readonly Item[], random: Random): Item {
  return itemAt(items, Math.floor(random() * items.length))
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const keyed = items.map(item => [random(), item] as const)
  return keyed.toSorted(([left], [right]) => left - right).map(([, item]) => item)
}

function itemAt<Item>(items: readonly Item[], place: number): Item {
  const item = items[place]
  if (item === undefined) throw new RangeError(`no item at ${place} of ${items.length}`)
  return item
}
