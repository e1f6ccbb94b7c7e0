/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import type { ValidationError } from '../http/validation/errors.ts'
import { framedPage, Notice, type Visitor } from './frame.tsx'
import type { ListedItem, ListedItems } from './lists.ts'
import {
  type CategoryItem,
  KINDS,
  type ManagedKind,
  type ManagedLists,
  type ProductItem,
  type ReviewItem,
} from './managed.ts'
import {
  CategoryTableRow,
  countText,
  ItemTable,
  ProductTableRow,
  ReviewTableRow,
  shownTotal,
  UserTableRow,
} from './tables.tsx'

const STARS = [1, 2, 3, 4, 5]

/** Limit on the categories that a field offers. */
const CHOICES = 200

const COLLATOR = new Intl.Collator('en')

const PRODUCT_ORDERS = {
  '-id': 'Newest',
  name: 'Name',
  price: 'Lowest price',
  '-price': 'Highest price',
  '-rating': 'Best rated',
  rating: 'Worst rated',
  '-reviews': 'Most reviews',
}
const OTHER_ORDERS = { '-id': 'Newest', id: 'Oldest', name: 'Name' }

/** What to say about a deletion or a change before this page was loaded. */
interface Told {
  readonly visitor: Visitor
  readonly query: URLSearchParams
  readonly told: string | null
}

export async function productsPage(
  { products, categories }: ManagedLists,
  { visitor, query, told }: Told,
  hasFacets: boolean,
) {
  const [rows, known] = await Promise.all([products.rows(query), choicesOf({ categories })])
  const chosen = chosenIn(query)
  const names = await namesOf(categories, rows.items, chosen)
  for (const [id, name] of names) {
    if (chosen.includes(id) && !known.some(one => one.id === id)) known.unshift({ id, name, description: '' })
  }
  const filtered = ['q', 'category_id', 'min_price', 'max_price', 'below_price', 'min_rating'].some(name =>
    query.get(name),
  )
  return framedPage({
    title: 'Products',
    visitor,
    section: '/admin/',
    children: (
      <>
        <Head title="Products" create={{ href: '/admin/products/new', text: 'New product' }} told={told} />
        <Filters path="/admin/">
          <Search query={query} label="Search products" />
          {query.get('below_price') && (
            <input type="hidden" name="below_price" value={query.get('below_price') ?? ''} />
          )}
          <Choice name="category_id" label="Category">
            <option value="">All</option>
            {known.map(({ id, name }) => (
              <option value={String(id)} selected={chosen.length === 1 && chosen[0] === id}>
                {name}
              </option>
            ))}
            <option value="0" selected={chosen.length === 1 && chosen[0] === 0}>
              Without a category
            </option>
          </Choice>
          <label class="pair">
            <span>Price from</span>
            <input name="min_price" type="number" min="0" step="any" value={query.get('min_price') ?? ''} />
          </label>
          <label class="pair">
            <span>to</span>
            <input name="max_price" type="number" min="0" step="any" value={query.get('max_price') ?? ''} />
          </label>
          <Choice name="min_rating" label="Stars">
            <option value="">Any</option>
            {[4, 3, 2, 1].map(stars => (
              <option value={String(stars)} selected={query.get('min_rating') === String(stars)}>
                {stars} and more
              </option>
            ))}
          </Choice>
          <Order orders={PRODUCT_ORDERS} query={query} />
        </Filters>
        <div id="results" class={hasFacets ? 'with-facets' : ''}>
          {hasFacets && (
            <div id="facets" hx-get={`/admin/facets?${query}`} hx-trigger="load, again" hx-swap="innerHTML"></div>
          )}
          <div>
            <Total rows={rows} noun="product" />
            <ItemTable
              columns={['Product', 'Price', 'Stars']}
              rows={rows}
              path="/admin/"
              empty={filtered ? <NothingFound path="/admin/" /> : <NoProducts />}
            >
              {rows.items.map(item => (
                <ProductTableRow item={item} category={names.get(item.value.category_id ?? 0)} />
              ))}
            </ItemTable>
          </div>
        </div>
      </>
    ),
  })
}

/** Categories to choose from, by name: the newest, if there are very many. Not by the index, which may have to catch up. */
export async function choicesOf({ categories }: Pick<ManagedLists, 'categories'>): Promise<CategoryItem[]> {
  const { items } = await categories.rows(new URLSearchParams('sort=-id'), CHOICES)
  return items.map(({ value }) => value).sort((one, other) => COLLATOR.compare(one.name, other.name))
}

/** The ids of the chosen categories; 0 stands for products without one. */
function chosenIn(query: URLSearchParams): number[] {
  const texts = query.getAll('category_id').join().split(',')
  return texts.filter(text => /^\d{1,15}$/.test(text)).map(Number)
}

function NoProducts() {
  return (
    <>
      <p>The store has no products yet.</p>
      <p>
        <a class="button primary" href="/admin/products/new">
          Add the first one
        </a>{' '}
        or <a href="/admin/import">import a file</a>.
      </p>
      <p class="quiet">
        <code>npx stockroom seed</code> fills it with sample data.
      </p>
    </>
  )
}

/** The names of the categories of these products, and of chosen ones. */
async function namesOf(
  categories: ManagedLists['categories'],
  items: readonly ListedItem<ProductItem>[],
  chosen: readonly number[],
): Promise<Map<number, string>> {
  const ids = [...items.flatMap(({ value }) => value.category_id ?? []), ...chosen.filter(id => id > 0).slice(0, 50)]
  const found = await categories.some(ids)
  return new Map([...found].map(([id, { name }]) => [id, name]))
}

export async function categoriesPage({ categories }: ManagedLists, told: Told) {
  const rows = await categories.rows(told.query)
  return namedPage(told, rows, { ...KINDS.categories, nouns: 'categories', columns: ['Category'] }, item => (
    <CategoryTableRow item={item} />
  ))
}

export async function usersPage({ users }: ManagedLists, told: Told) {
  const rows = await users.rows(told.query)
  return namedPage(told, rows, { ...KINDS.users, nouns: 'users', columns: ['User', 'Flags'] }, item => (
    <UserTableRow item={item} />
  ))
}

interface NamedKind extends Pick<ManagedKind, 'noun' | 'title' | 'list' | 'path'> {
  readonly nouns: string
  readonly columns: readonly string[]
}

/** A list of resources that are found by words and ordered by name. */
function namedPage<Value>(
  { visitor, query, told }: Told,
  rows: ListedItems<Value>,
  { noun, nouns, title, list, path, columns }: NamedKind,
  row: (item: ListedItem<Value>) => Child,
) {
  return framedPage({
    title,
    visitor,
    section: list,
    children: (
      <>
        <Head title={title} create={{ href: `/admin/${path}/new`, text: `New ${noun}` }} told={told} />
        <Filters path={list}>
          <Search query={query} label={`Search ${nouns}`} />
          <Order orders={OTHER_ORDERS} query={query} />
        </Filters>
        <div id="results">
          <Total rows={rows} noun={noun} nouns={nouns} />
          <ItemTable
            columns={columns}
            rows={rows}
            path={list}
            empty={query.get('q') ? <NothingFound path={list} /> : <p>There are no {nouns} yet.</p>}
          >
            {rows.items.map(row)}
          </ItemTable>
        </div>
      </>
    ),
  })
}

export async function reviewsPage(lists: ManagedLists, { visitor, query, told }: Told) {
  const reviews = await reviewRows(lists, query, true)
  return framedPage({
    title: 'Reviews',
    visitor,
    section: '/admin/reviews/',
    children: (
      <>
        <Head title="Reviews" told={told} />
        <StarChips path="/admin/reviews/" query={query} />
        <p class="hint scripted">
          With the focus in the list: <kbd>J</kbd> and <kbd>K</kbd> move, <kbd>D</kbd> deletes, <kbd>U</kbd> undoes.
        </p>
        <div id="results">{reviews}</div>
      </>
    ),
  })
}

/** The reviews that the query selects, newest first. */
export async function reviewRows(
  { reviews, userNames, products }: ManagedLists,
  query: URLSearchParams,
  areOfAll: boolean,
  path = '/admin/reviews/',
) {
  const rows = await reviews.rows(query)
  const [authors, named] = await Promise.all([
    userNames.some(rows.items.map(({ value }) => value.user_id)),
    areOfAll ? products.some(rows.items.map(({ value }) => value.product_id)) : new Map<number, ProductItem>(),
  ])
  return (
    <>
      <Total rows={rows} noun="review" />
      <ItemTable
        columns={['Review']}
        rows={rows}
        path={path}
        empty={<p>{query.get('rating') ? 'There are no such reviews.' : 'There are no reviews yet.'}</p>}
      >
        {rows.items.map((item: ListedItem<ReviewItem>) => (
          <ReviewTableRow
            item={item}
            author={authors.get(item.value.user_id)?.name}
            product={areOfAll ? (named.get(item.value.product_id)?.name ?? 'a deleted product') : null}
          />
        ))}
      </ItemTable>
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
  const chosen = new Set(query.getAll('rating').join().split(',').map(Number))
  const hasAny = STARS.some(stars => chosen.has(stars))
  const pathWith = (stars: number) => {
    const others = STARS.filter(one => (one === stars ? !chosen.has(one) : chosen.has(one)))
    return others.length === 0 ? path : `${path}?rating=${others.join()}`
  }
  return (
    <nav class="chips" aria-label="Stars">
      <a href={path} {...(!hasAny && { 'aria-current': 'true' })}>
        All
      </a>
      {STARS.map(stars => (
        <a href={pathWith(stars)} {...(chosen.has(stars) && { 'aria-current': 'true' })}>
          {stars}{' '}
          <span class="star" aria-hidden="true">
            ★
          </span>
          <span class="visually-hidden">{stars === 1 ? 'star' : 'stars'}</span>
          {histogram && <span class="quiet"> {countText(histogram[stars - 1] ?? 0)}</span>}
        </a>
      ))}
    </nav>
  )
}

interface HeadProperties {
  readonly title: string
  readonly create?: { readonly href: string; readonly text: string }
  readonly told: string | null
}

function Head({ title, create, told }: HeadProperties) {
  return (
    <>
      <div class="title">
        <h1>{title}</h1>
        {create && (
          <a class="button primary" href={create.href}>
            {create.text}
          </a>
        )}
      </div>
      {told && <Notice>{told}</Notice>}
    </>
  )
}

/** A form whose changes show at once; without scripts, it has a button. */
function Filters({ path, children }: { readonly path: string; readonly children?: Child }) {
  return (
    <search>
      <form
        class="filters"
        action={path}
        hx-get={path}
        hx-target="#results"
        hx-select="#results"
        hx-swap="outerHTML"
        hx-sync="this:replace"
        hx-trigger="input delay:150ms, submit"
        data-filters
      >
        {children}
        <noscript>
          <button type="submit">Show</button>
        </noscript>
      </form>
    </search>
  )
}

function Search({ query, label }: { readonly query: URLSearchParams; readonly label: string }) {
  return (
    <label class="search">
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        name="q"
        value={query.get('q') ?? ''}
        placeholder={label}
        maxlength={200}
        dir="auto"
        autocomplete="off"
        enterkeyhint="search"
      />
    </label>
  )
}

interface ChoiceProperties {
  readonly name: string
  readonly label: string
  readonly children?: Child
}

function Choice({ name, label, children }: ChoiceProperties) {
  return (
    <label>
      <span>{label}</span>
      <select name={name}>{children}</select>
    </label>
  )
}

function Order({
  orders,
  query,
}: {
  readonly orders: Readonly<Record<string, string>>
  readonly query: URLSearchParams
}) {
  return (
    <Choice name="sort" label="Order">
      <option value="">Best match</option>
      {Object.entries(orders).map(([word, name]) => (
        <option value={word} selected={query.get('sort') === word}>
          {name}
        </option>
      ))}
    </Choice>
  )
}

interface TotalProperties {
  readonly rows: ListedItems<unknown>
  readonly noun: string
  readonly nouns?: string
}

function Total({ rows: { total, errors }, noun, nouns = `${noun}s` }: TotalProperties) {
  if (errors.length > 0) return <WrongQuery errors={errors} />
  return (
    <p class="total" data-tell>
      {shownTotal(total, noun, nouns)}
    </p>
  )
}

function WrongQuery({ errors }: { readonly errors: readonly ValidationError[] }) {
  return (
    <Notice kind="trouble">
      {errors.map(({ loc, msg }) => `${String(loc[1]).replaceAll('_', ' ')}: ${msg}`).join('; ')}
    </Notice>
  )
}

function NothingFound({ path }: { readonly path: string }) {
  return (
    <p>
      Nothing matches. <a href={path}>Show all</a>
    </p>
  )
}
