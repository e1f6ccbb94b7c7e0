/** @jsxImportSource hono/jsx */
import { withoutHalf } from '../../limits/code-points.ts'
import type { App } from '../../server/requests.ts'
import type { Rating } from '../storage/rating.ts'
import { type PageParts, pathId, searchParamsOf } from './answer.ts'
import { DeleteButton, itemText } from './deletions.tsx'
import type { Framed } from './frame.tsx'
import { listPage } from './list-pages.tsx'
import type { ListedItem } from './lists.ts'
import { COMMENT_SHOWN_CHARACTERS, LISTS, type ManagedLists, type ReviewItem } from './managed.ts'
import { countText, ItemTable, Row, Star, Stars } from './tables.tsx'

const STARS = [1, 2, 3, 4, 5]

/** Who wrote a review, and about what. */
interface Names {
  readonly author: string
  readonly product: string
}

/** Adds the list of reviews, and the page of one. */
export function addReviews(app: App, { lists, framed }: PageParts): void {
  app.get('/admin/reviews/', async context => {
    const query = searchParamsOf(context)
    const reviews = await reviewTable(lists, query)
    const content = (
      <>
        <StarChips path="/admin/reviews/" query={query} />
        <p class="hint scripted">
          With the focus in the list: <kbd>J</kbd> and <kbd>K</kbd> move, <kbd>D</kbd> deletes, <kbd>U</kbd> undoes,{' '}
          <kbd>X</kbd> selects.
        </p>
        <div id="results">{reviews}</div>
      </>
    )
    return framed(context, listPage('reviews', query, content))
  })

  app.get('/admin/reviews/:id', async context => {
    const item = await lists.whole.reviews.get(pathId(context))
    const namesOf = await namesAround(lists, [item])
    return framed(context, reviewPage(item, namesOf(item)))
  })
}

/** The reviews that the query selects, newest first. `path` is the page of a product, if they are only its reviews. */
export async function reviewTable(lists: ManagedLists, query: URLSearchParams, path?: string) {
  const rows = await lists.reviews.rows(query)
  const namesOf = await namesAround(lists, rows.items)
  return (
    <ItemTable
      list="reviews"
      rows={rows}
      row={item => reviewRow(item, namesOf(item), path === undefined)}
      columns={['Review']}
      empty={<p>{query.get('rating') ? 'There are no such reviews.' : 'There are no reviews yet.'}</p>}
      path={path}
    />
  )
}

async function namesAround(
  { users, products }: ManagedLists,
  items: readonly ListedItem<ReviewItem>[],
): Promise<(item: ListedItem<ReviewItem>) => Names> {
  const [authors, named] = await Promise.all([
    users.some(items.map(({ value }) => value.user_id)),
    products.some(items.map(({ value }) => value.product_id)),
  ])
  return ({ value }) => ({
    author: authors.get(value.user_id)?.name ?? 'unknown',
    product: named.get(value.product_id)?.name ?? 'a deleted product',
  })
}

function reviewRow({ value, tag }: ListedItem<ReviewItem>, { author, product }: Names, isOfAll: boolean) {
  const { id } = value
  const isCut = value.comment.length > COMMENT_SHOWN_CHARACTERS
  const comment = isCut ? `${withoutHalf(value.comment.slice(0, COMMENT_SHOWN_CHARACTERS))}…` : value.comment
  return (
    <Row list="reviews" id={id} tag={tag} name={`the review by ${author}`}>
      <th scope="row" class="review">
        <GivenStars rating={value.rating} />{' '}
        <a id={`reviews-${id}-name`} class="name" dir="auto" href={`/admin/reviews/${id}`}>
          {author}
        </a>
        {isOfAll && (
          <>
            {' '}
            <OnProduct id={value.product_id} name={product} />
          </>
        )}
        <p class="comment" dir="auto">
          {comment}
        </p>
        {isCut && (
          <a href={`/admin/reviews/${id}`} aria-label={`Read all of the review by ${author}`}>
            Read all
          </a>
        )}
      </th>
    </Row>
  )
}

/** A whole review, however long it is. */
function reviewPage({ value, tag }: ListedItem<ReviewItem>, { author, product }: Names): Framed {
  const { path } = LISTS.reviews
  const item = itemText('reviews', value.id, tag)
  return {
    title: `Review by ${author}`,
    section: path,
    content: (
      <>
        <p class="back">
          <a href={path}>← Reviews</a>
        </p>
        <article class="card narrow" data-item={item} data-name={`the review by ${author}`} data-list={path}>
          <h1 dir="auto">{author}</h1>
          <p>
            <GivenStars rating={value.rating} /> <OnProduct id={value.product_id} name={product} />
          </p>
          <p class="comment" dir="auto">
            {value.comment}
          </p>
          <DeleteButton item={item} />
        </article>
      </>
    ),
  }
}

function GivenStars({ rating }: { readonly rating: number }) {
  return (
    <span class={`given given-${rating}`}>
      <Star /> {rating}
      <span class="visually-hidden"> {rating === 1 ? 'star' : 'stars'}</span>
    </span>
  )
}

function OnProduct({ id, name }: { readonly id: number; readonly name: string }) {
  return (
    <>
      <span class="quiet">on</span>{' '}
      <a dir="auto" href={`/admin/products/${id}`}>
        {name}
      </a>
    </>
  )
}

interface StarChipsProperties {
  readonly path: string
  readonly query: URLSearchParams
  /** The number of reviews with each number of stars, if it is known. */
  readonly histogram?: readonly number[]
}

/** Links that choose reviews by their stars. Each can be switched on and off. */
export function StarChips({ path, query, histogram }: StarChipsProperties) {
  const asked = query.getAll('rating').join().split(',').map(Number)
  const chosen = STARS.filter(stars => asked.includes(stars))
  const pathWith = (stars: number) => {
    const others = STARS.filter(one => chosen.includes(one) !== (one === stars))
    return others.length === 0 ? path : `${path}?rating=${others.join()}`
  }
  return (
    <nav id="chips" class="chips" aria-label="Stars">
      {/* A link with an id keeps the focus when the list is counted again. */}
      <a id="stars-all" href={path} {...(chosen.length === 0 && { 'aria-current': 'true' })}>
        All
      </a>
      {STARS.map(stars => (
        <a id={`stars-${stars}`} href={pathWith(stars)} {...(chosen.includes(stars) && { 'aria-current': 'true' })}>
          {stars} <Star />
          <span class="visually-hidden">{stars === 1 ? 'star' : 'stars'}</span>
          {histogram && <span class="quiet"> {countText(histogram[stars - 1] ?? 0)}</span>}
        </a>
      ))}
    </nav>
  )
}

/** A product's stars: their mean, and how many reviews have each number of them. */
export function RatingHistogram({ rating }: { readonly rating: Pick<Rating, 'average' | 'count' | 'histogram'> }) {
  const most = Math.max(1, ...rating.histogram)
  return (
    <section id="histogram" class="card histogram" aria-labelledby="stars">
      <h2 id="stars">Stars</h2>
      <p class="mean">
        <Stars rating={rating} />
      </p>
      <table>
        <tbody>
          {[5, 4, 3, 2, 1].map(stars => (
            <tr>
              <th scope="row">
                {stars} <span aria-hidden="true">★</span>
                <span class="visually-hidden">{stars === 1 ? 'star' : 'stars'}</span>
              </th>
              <td>
                <svg aria-hidden="true" viewBox="0 0 100 8" preserveAspectRatio="none">
                  <rect class="track" width="100" height="8" />
                  <rect width={String(((rating.histogram[stars - 1] ?? 0) / most) * 100)} height="8" />
                </svg>
              </td>
              <td class="number">{countText(rating.histogram[stars - 1] ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
