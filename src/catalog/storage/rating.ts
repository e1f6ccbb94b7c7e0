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

/** The columns of `product_ratings`, in the order of a histogram. A product without a row has no reviews. */
export const COUNT_COLUMNS = ['one_star', 'two_stars', 'three_stars', 'four_stars', 'five_stars'] as const

/**
 * Imagined reviews that count for the score, each of three stars. So one review of five stars does not beat fifty with a mean of
 * 4.6. They are constants, because with a mean of the whole catalog each review would change every score.
 */
const IMAGINED_REVIEWS = 5
const IMAGINED_STARS = 3 * IMAGINED_REVIEWS

export function ratingOf(histogram: readonly number[]): Rating {
  const count = histogram.reduce((sum, number) => sum + number, 0)
  const stars = histogram.reduce((sum, number, place) => sum + number * (place + 1), 0)
  if (count === 0) return { average: null, count, histogram, score: 0 }
  return { average: stars / count, count, histogram, score: (stars + IMAGINED_STARS) / (count + IMAGINED_REVIEWS) }
}
