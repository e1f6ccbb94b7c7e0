/** What a product's reviews say together. */
export interface Rating {
  /** The mean number of stars, not rounded; `null` without reviews. */
  readonly average: number | null
  readonly count: number
  /** Number of reviews with one, two, three, four and five stars. */
  readonly histogram: readonly number[]
  /** Products are sorted by it; 0 without reviews. */
  readonly score: number
}

/** How many reviews of each number of stars a product has. */
export interface StarCounts {
  readonly one: number
  readonly two: number
  readonly three: number
  readonly four: number
  readonly five: number
}

/** The columns of `product_ratings`, by the names in `StarCounts`. A product without a row has no reviews. */
export const COUNT_COLUMNS = {
  one: 'one_star',
  two: 'two_stars',
  three: 'three_stars',
  four: 'four_stars',
  five: 'five_stars',
} satisfies Record<keyof StarCounts, string>

/**
 * Imagined reviews that count for the score, each of three stars. So one review of five stars does not beat fifty with a mean of
 * 4.6. They are constants, because with a mean of the whole catalog each review would change every score.
 */
const IMAGINED_REVIEWS = 5
const IMAGINED_STARS = 3 * IMAGINED_REVIEWS

export function ratingOf({ one, two, three, four, five }: StarCounts): Rating {
  const histogram = [one, two, three, four, five]
  const count = histogram.reduce((sum, number) => sum + number, 0)
  const stars = histogram.reduce((sum, number, place) => sum + number * (place + 1), 0)
  if (count === 0) return { average: null, count, histogram, score: 0 }
  return { average: stars / count, count, histogram, score: (stars + IMAGINED_STARS) / (count + IMAGINED_REVIEWS) }
}
