/** @jsxImportSource hono/jsx */
import { framedPage, type Visitor } from './frame.tsx'
import type { ListedItem } from './lists.ts'
import type { ReviewItem } from './managed.ts'

interface ReviewPage {
  readonly visitor: Visitor
  readonly item: ListedItem<ReviewItem>
  readonly author: string
  readonly product: string
}

/** A whole review, however long it is. */
export function reviewPage({ visitor, item: { value, tag }, author, product }: ReviewPage): string {
  const { id, rating, comment, product_id: productId } = value
  const doomed = `reviews/${id} ${tag}`
  return framedPage({
    title: `Review by ${author}`,
    visitor,
    section: '/admin/reviews/',
    children: (
      <>
        <p class="back">
          <a href="/admin/reviews/">← Reviews</a>
        </p>
        <article
          class="card narrow"
          data-item={doomed}
          data-name={`the review by ${author}`}
          data-list="/admin/reviews/"
        >
          <h1 dir="auto">{author}</h1>
          <p>
            <span class={`given given-${rating}`}>
              <span class="star" aria-hidden="true">
                ★
              </span>{' '}
              {rating}
              <span class="visually-hidden"> {rating === 1 ? 'star' : 'stars'}</span>
            </span>{' '}
            <span class="quiet">on</span>{' '}
            <a dir="auto" href={`/admin/products/${productId}`}>
              {product}
            </a>
          </p>
          <p class="comment" dir="auto">
            {comment}
          </p>
          <form id="removal" action="/admin/deletions" method="post"></form>
          <div class="actions">
            <div>
              <button type="submit" class="danger" form="removal" name="only" value={doomed} data-delete>
                Delete
              </button>
            </div>
          </div>
        </article>
      </>
    ),
  })
}
