/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Rating } from '../storage/rating.ts'
import { COUNT_MAX, type ListedItem, type ListedItems } from './lists.ts'
import { COMMENT_SHOWN_CHARACTERS, type ProductItem, type ReviewItem, type UserItem } from './managed.ts'

const COUNT = new Intl.NumberFormat('en')

/** A price as a field takes it, which reads back as the same number. */
export function price(value: number): string {
  const text = String(value)
  return /^\d+(\.\d)?$/.test(text) ? value.toFixed(2) : text
}

export function countText(value: number): string {
  return COUNT.format(value)
}

/** The number of items of a list, as its `rows` know it. */
export function shownTotal(total: number, noun: string, nouns = `${noun}s`): string {
  if (total === 0) return `No ${nouns}`
  return `${countText(total)}${total === COUNT_MAX ? '+' : ''} ${total === 1 ? noun : nouns}`
}

interface TableProperties {
  readonly columns: readonly string[]
  readonly rows: Pick<ListedItems<unknown>, 'items' | 'next'>
  /** The path of the page. */
  readonly path: string
  /** What to say if there are no rows. */
  readonly empty: Child
  readonly children?: Child
}

/** A table whose rows can be selected, deleted and continued. */
export function ItemTable({ columns, rows: { items, next }, path, empty, children }: TableProperties) {
  if (items.length === 0) return <div class="empty">{empty}</div>
  return (
    <>
      <form id="deletions" action="/admin/deletions" method="post"></form>
      <table class={`rows columns-${columns.length}`}>
        <thead>
          <tr>
            <th scope="col" class="pick">
              <span class="visually-hidden">Select</span>
            </th>
            {columns.map((name, place) => (
              <th scope="col" class={`column-${place}`}>
                {name}
              </th>
            ))}
            <th scope="col">
              <span class="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody id="rows">{children}</tbody>
      </table>
      <More path={path} next={next} />
      <div class="selection">
        <span id="selected"></span>
        <button type="submit" class="danger" form="deletions" data-delete-selected>
          Delete selected
        </button>
      </div>
    </>
  )
}

function More({ path, next }: { readonly path: string; readonly next: string | null }) {
  return (
    <p id="more">
      {next !== null && (
        <a
          class="button"
          href={`${path}?${next}`}
          hx-get={`${path}?${next}`}
          hx-target="#rows"
          hx-select="#rows > tr"
          hx-select-oob="#more"
          hx-swap="beforeend"
          data-more
        >
          Show more
        </a>
      )}
    </p>
  )
}

interface RowProperties {
  /** The name of the resource's collection, its id, and its tag. */
  readonly path: string
  readonly id: number
  readonly tag: string
  readonly name: string
  readonly actions?: Child
  readonly children?: Child
}

/** A row that can be selected and deleted. */
function Row({ path, id, tag, name, actions, children }: RowProperties) {
  const item = `${path}/${id} ${tag}`
  return (
    <tr id={`${path}-${id}`} data-item={item} data-name={name}>
      <td class="pick">
        <input type="checkbox" name="item" value={item} form="deletions" aria-label={`Select ${name}`} />
      </td>
      {children}
      <td class="actions">
        <div>
          {actions}
          <button
            type="submit"
            class="plain"
            form="deletions"
            name="only"
            value={item}
            aria-label={`Delete ${name}`}
            data-delete
          >
            Delete
          </button>
        </div>
      </td>
    </tr>
  )
}

interface ProductRowProperties {
  readonly item: ListedItem<ProductItem>
  /** The name of its category, if it has one. */
  readonly category: string | undefined
  /** Whether the row was just saved, and gets the focus back. */
  readonly isSaved?: boolean
}

export function ProductTableRow({ item: { value, tag }, category, isSaved = false }: ProductRowProperties) {
  const { id, name, rating } = value
  const edit = (
    <a
      class="button plain"
      href={`/admin/products/${id}`}
      hx-get={`/admin/products/${id}/row?edit`}
      hx-target="closest tr"
      hx-swap="outerHTML"
      aria-label={`Edit ${name}`}
      autofocus={isSaved}
      data-edit
    >
      Edit
    </a>
  )
  return (
    <Row path="products" {...{ id, tag, name }} actions={edit}>
      <th scope="row">
        <a class="name" dir="auto" href={`/admin/products/${id}`}>
          {name}
        </a>
        <span class="beneath" dir="auto">
          {category}
        </span>
      </th>
      <td class="number">{price(value.price)}</td>
      <td class="stars">
        <Stars rating={rating} />
      </td>
    </Row>
  )
}

/** The mean of a product's stars, and the number of its reviews. */
export function Stars({ rating: { average, count: reviews } }: { readonly rating: Pick<Rating, 'average' | 'count'> }) {
  if (average === null) return <span class="quiet">no reviews</span>
  return (
    <span>
      <span class="star" aria-hidden="true">
        ★
      </span>{' '}
      {average.toFixed(1)}
      <span class="visually-hidden"> stars,</span> <span class="quiet">({countText(reviews)})</span>
    </span>
  )
}

interface RowFormProperties {
  readonly id: number
  readonly tag: string
  readonly name: string
  readonly price: string
  readonly problem: string | null
}

/** The row of a product while it is edited. */
export function ProductRowForm({ id, tag, name, price, problem }: RowFormProperties) {
  const row = `/admin/products/${id}/row`
  return (
    <tr id={`products-${id}`} class="editing">
      <td colspan={5}>
        <form action={row} method="post" hx-post={row} hx-target="closest tr" hx-swap="outerHTML">
          <input type="hidden" name="tag" value={tag} />
          <label>
            <span>Name</span>
            <input name="name" value={name} dir="auto" required minlength={3} maxlength={50} autofocus />
          </label>
          <label class="short">
            <span>Price</span>
            <input name="price" value={price} required inputmode="decimal" />
          </label>
          <div class="buttons">
            <button type="submit" class="primary">
              Save
            </button>
            <a class="button" href="/admin/" hx-get={row} hx-target="closest tr" hx-swap="outerHTML" data-cancel>
              Cancel
            </a>
          </div>
          {problem && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
        </form>
      </td>
    </tr>
  )
}

interface ReviewRowProperties {
  readonly item: ListedItem<ReviewItem>
  readonly author: string | undefined
  /** The name of the product; `null` on the product's own page. */
  readonly product: string | null
}

export function ReviewTableRow({ item: { value, tag }, author = 'unknown', product }: ReviewRowProperties) {
  const { id, rating, product_id: productId } = value
  const isCut = value.comment.length > COMMENT_SHOWN_CHARACTERS
  const comment = isCut ? `${value.comment.slice(0, COMMENT_SHOWN_CHARACTERS)}…` : value.comment
  return (
    <Row path="reviews" {...{ id, tag, name: `the review by ${author}` }}>
      <th scope="row" class="review">
        <span class={`given given-${rating}`}>
          <span class="star" aria-hidden="true">
            ★
          </span>{' '}
          {rating}
          <span class="visually-hidden"> {rating === 1 ? 'star' : 'stars'}</span>
        </span>{' '}
        <a class="name" dir="auto" href={`/admin/reviews/${id}`}>
          {author}
        </a>
        {product !== null && (
          <>
            {' '}
            <span class="quiet">on</span>{' '}
            <a dir="auto" href={`/admin/products/${productId}`}>
              {product}
            </a>
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

const FLAGS = [
  ['is_admin', 'admin'],
  ['is_verified', 'verified'],
  ['is_suspended', 'suspended'],
  ['is_blocked', 'blocked'],
  ['is_banned', 'banned'],
  ['is_deleted', 'deleted'],
] as const

export function UserTableRow({ item: { value, tag } }: { readonly item: ListedItem<UserItem> }) {
  const { id, name, email } = value
  const flags = [
    ...(value.is_active === 0 ? ['inactive'] : []),
    ...FLAGS.flatMap(([member, word]) => (value[member] === 0 ? [] : word)),
  ]
  return (
    <Row path="users" {...{ id, tag, name }}>
      <th scope="row">
        <a class="name" dir="auto" href={`/admin/users/${id}`}>
          {name}
        </a>
        <span class="beneath" dir="auto">
          {email}
        </span>
      </th>
      <td class="flags">
        {flags.map(word => (
          <span class={`flag ${word}`}>{word}</span>
        ))}
      </td>
    </Row>
  )
}

export function CategoryTableRow({
  item: { value, tag },
}: {
  readonly item: ListedItem<Record<'name' | 'description', string> & { id: number }>
}) {
  const { id, name, description } = value
  return (
    <Row
      path="categories"
      {...{ id, tag, name }}
      actions={
        <a class="button plain" href={`/admin/?category_id=${id}`} aria-label={`Products in ${name}`}>
          Products
        </a>
      }
    >
      <th scope="row">
        <a class="name" dir="auto" href={`/admin/categories/${id}`}>
          {name}
        </a>
        <span class="beneath" dir="auto">
          {description}
        </span>
      </th>
    </Row>
  )
}
