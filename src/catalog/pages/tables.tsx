/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { Rating } from '../storage/rating.ts'
import { itemText } from './deletions.tsx'
import { Notice } from './frame.tsx'
import { COUNT_MAX, type ListedItem, type ListedItems } from './lists.ts'
import { type CategoryItem, LISTS, type ListName, type ProductItem, type UserItem } from './managed.ts'

const COUNT = new Intl.NumberFormat('en')

/** A price as a field takes it, which reads back as the same number. */
export function price(value: number): string {
  const text = String(value)
  return /^\d+(\.\d)?$/.test(text) ? value.toFixed(2) : text
}

export function countText(value: number): string {
  return COUNT.format(value)
}

interface TableProperties<Value> {
  readonly list: ListName
  readonly rows: ListedItems<Value>
  readonly row: (item: ListedItem<Value>) => Child
  readonly columns: readonly string[]
  /** Shown if the list has no items. */
  readonly empty: Child
  /** The path of the page, unless it is that of the list. */
  readonly path?: string | undefined
}

/** The number of items, and a table whose rows can be selected, deleted and continued. */
export function ItemTable<Value>({ list, rows, row, columns, empty, path }: TableProperties<Value>) {
  const { items, next, total, errors } = rows
  return (
    <>
      {errors.length > 0 ? (
        <Notice kind="trouble">
          {errors.map(({ loc, msg }) => `${String(loc[1]).replaceAll('_', ' ')}: ${msg}`).join('; ')}
        </Notice>
      ) : (
        <p id="total" class="total" data-tell>
          {totalText(total, list)}
        </p>
      )}
      {items.length === 0 ? (
        <div class="empty">
          {total > 0 || errors.length > 0 ? <NothingFound path={path ?? LISTS[list].path} /> : empty}
        </div>
      ) : (
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
            <tbody id="rows">{items.map(row)}</tbody>
          </table>
          <More path={next === null ? null : `${path ?? LISTS[list].path}?${next}`} />
          <div class="selection">
            <span id="selected"></span>
            <button type="submit" class="danger" form="deletions" data-delete-selected>
              Delete selected
            </button>
          </div>
        </>
      )}
    </>
  )
}

export function NothingFound({ path }: { readonly path: string }) {
  return (
    <p>
      Nothing matches. <a href={path}>Show all</a>
    </p>
  )
}

function totalText(total: number, list: ListName): string {
  if (total === 0) return `No ${list}`
  return `${countText(total)}${total === COUNT_MAX ? '+' : ''} ${total === 1 ? LISTS[list].noun : list}`
}

/** `path` is the next page; `null` after the last. Its request ends with the list: other filters abort it. */
function More({ path }: { readonly path: string | null }) {
  return (
    <p id="more">
      {path !== null && (
        <a
          class="button"
          href={path}
          hx-get={path}
          hx-target="#rows"
          hx-select="#rows > tr"
          hx-select-oob="#more"
          hx-swap="beforeend"
          hx-sync="#content:drop"
          data-more
        >
          Show more
        </a>
      )}
    </p>
  )
}

interface RowProperties {
  readonly list: ListName
  readonly id: number
  readonly tag: string
  readonly name: string
  readonly actions?: Child
  readonly children?: Child
}

/** A row that can be selected and deleted. */
export function Row({ list, id, tag, name, actions, children }: RowProperties) {
  const item = itemText(list, id, tag)
  return (
    <tr id={`${list}-${id}`} data-item={item} data-name={name}>
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

interface NamedRowProperties {
  readonly list: ListName
  readonly item: ListedItem<{ readonly id: number; readonly name: string }>
  readonly beneath: string | undefined
  readonly actions?: Child
  readonly children?: Child
}

/** A row that begins with the name of the item, which leads to its page. */
function NamedRow({ list, item: { value, tag }, beneath, actions, children }: NamedRowProperties) {
  const { id, name } = value
  return (
    <Row {...{ list, id, tag, name, actions }}>
      <th scope="row">
        {/* With an id, it keeps the focus when the list is shown again. */}
        <a id={`${list}-${id}-name`} class="name" dir="auto" href={`/admin/${list}/${id}`}>
          {name}
        </a>
        <span class="beneath" dir="auto">
          {beneath}
        </span>
      </th>
      {children}
    </Row>
  )
}

/** A product's row. If it was just saved, it gets the focus back. */
export function productRow(item: ListedItem<ProductItem>, category: string | undefined, isSaved = false) {
  const { id, name, price: amount, rating } = item.value
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
    <NamedRow list="products" item={item} beneath={category} actions={edit}>
      <td class="number">{price(amount)}</td>
      <td class="stars">
        <Stars rating={rating} />
      </td>
    </NamedRow>
  )
}

export function Star() {
  return (
    <span class="star" aria-hidden="true">
      ★
    </span>
  )
}

/** The mean of a product's stars, and the number of its reviews. */
export function Stars({ rating: { average, count: reviews } }: { readonly rating: Pick<Rating, 'average' | 'count'> }) {
  if (average === null) return <span class="quiet">no reviews</span>
  return (
    <span>
      <Star /> {average.toFixed(1)}
      <span class="visually-hidden"> stars,</span> <span class="quiet">({countText(reviews)})</span>
    </span>
  )
}

const FLAGS = ['admin', 'verified', 'suspended', 'blocked', 'banned', 'deleted'] as const

export function userRow(item: ListedItem<UserItem>) {
  const { value } = item
  const flags = FLAGS.filter(flag => value[`is_${flag}` as const] !== 0)
  return (
    <NamedRow list="users" item={item} beneath={value.email}>
      <td class="flags">
        {[...(value.is_active === 0 ? ['inactive'] : []), ...flags].map(word => (
          <span class={`flag ${word}`}>{word}</span>
        ))}
      </td>
    </NamedRow>
  )
}

export function categoryRow(item: ListedItem<CategoryItem>) {
  const { id, name, description } = item.value
  const products = (
    <a class="button plain" href={`/admin/?category_id=${id}`} aria-label={`Products in ${name}`}>
      Products
    </a>
  )
  return <NamedRow list="categories" item={item} beneath={description} actions={products} />
}
