/** @jsxImportSource hono/jsx */
import type { Child } from 'hono/jsx'
import { SHOWN_COMMAND } from '../../program/own-command.ts'
import { queryOf } from '../../server/request-target.ts'
import type { App } from '../../server/requests.ts'
import { htmlAnswer, type PageContext, type PageParts, searchParamsOf, seeOther } from './answer.ts'
import { FACET_FILTERS, facets } from './facets.tsx'
import { type Framed, Notice } from './frame.tsx'
import type { ListedItem, ListedItems } from './lists.ts'
import { type CategoryItem, LISTS, type ListName, type ManagedLists } from './managed.ts'
import { categoryRow, ItemTable, NothingFound, productRow, userRow } from './tables.tsx'

/** Limits on the categories that a field offers, and on those of a query. */
const CHOICES = 200
const CHOSEN_MAX = 50

const WITHOUT_CATEGORY = 'Without a category'

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

const KEPT = 'somebody has changed them since, or they could not be deleted. Look at them again.'

/** Adds the lists of what has a form. */
export function addLists(app: App, { lists, own, framed }: PageParts): void {
  // People type and shorten addresses.
  const leadTo = (path: string) => (context: PageContext) => seeOther(path + queryOf(context.req.raw.url))
  app.get('/admin', leadTo(LISTS.products.path))
  for (const [list, { path }] of Object.entries(LISTS)) app.get(`/admin/${list}`, leadTo(path))
  app.get('/admin/', async context => framed(context, await productsPage(lists, searchParamsOf(context))))
  app.get('/admin/facets', async context =>
    htmlAnswer(context, await facets(own, context.env, searchParamsOf(context))),
  )
  app.get('/admin/categories/', async context => {
    const query = searchParamsOf(context)
    const rows = await lists.categories.rows(query)
    return framed(context, namedPage('categories', query, rows, ['Category'], categoryRow))
  })
  app.get('/admin/users/', async context => {
    const query = searchParamsOf(context)
    const rows = await lists.users.rows(query)
    return framed(context, namedPage('users', query, rows, ['User', 'Flags'], userRow))
  })
}

async function productsPage({ products, categories }: ManagedLists, query: URLSearchParams): Promise<Framed> {
  const [rows, newest] = await Promise.all([products.rows(query), choicesOf(categories)])
  const chosen = chosenIn(query)
  const known = await categories.some([...rows.items.flatMap(({ value }) => value.category_id ?? []), ...chosen])
  const nameOf = (id: number) => (id === 0 ? WITHOUT_CATEGORY : (known.get(id)?.name ?? `Category ${id}`))
  const choices = [...newest.map(({ id, name }) => [String(id), name] as const), ['0', WITHOUT_CATEGORY] as const]
  const isOffered = chosen.length === 0 || choices.some(([value]) => value === chosen.join())
  const further = isOffered ? [] : [[chosen.join(), chosen.map(nameOf).join(', ')] as const]
  const [belowPrice, maxPrice] = [query.get('below_price'), query.get('max_price')]
  return listPage(
    'products',
    query,
    <>
      <Filters list="products" query={query} orders={PRODUCT_ORDERS}>
        <Choice
          name="category_id"
          label="Category"
          options={[['', 'All'], ...further, ...choices]}
          chosen={chosen.join()}
        />
        <PriceLimit name="min_price" label="from" value={query.get('min_price')} />
        {/* A band of prices ends below the next one. */}
        {belowPrice && <PriceLimit name="below_price" label="below" value={belowPrice} />}
        {(maxPrice || !belowPrice) && <PriceLimit name="max_price" label="to" value={maxPrice} />}
        <Choice
          name="min_rating"
          label="Stars"
          options={[['', 'Any'], ...['4', '3', '2', '1'].map(stars => [stars, `${stars} and more`] as const)]}
          chosen={query.get('min_rating')}
        />
      </Filters>
      <div id="results" class="with-facets">
        <div
          id="facets"
          hx-get={`/admin/facets?${query}`}
          hx-trigger="load, again"
          hx-select=".facets"
          hx-swap="innerHTML"
        ></div>
        <div>
          <ItemTable
            list="products"
            rows={rows}
            row={item => productRow(item, known.get(item.value.category_id ?? 0)?.name)}
            columns={['Product', 'Price', 'Stars']}
            empty={FACET_FILTERS.some(name => query.get(name)) ? <NothingFound path="/admin/" /> : <NoProducts />}
          />
        </div>
      </div>
    </>,
  )
}

/** Categories to choose from, by name: the newest, if there are very many. Not by the index, which may have to catch up. */
export async function choicesOf(categories: ManagedLists['categories']): Promise<CategoryItem[]> {
  const { items } = await categories.rows(new URLSearchParams('sort=-id'), CHOICES)
  return items.map(({ value }) => value).sort((one, other) => COLLATOR.compare(one.name, other.name))
}

/** The ids of the chosen categories; 0 stands for products without one. */
function chosenIn(query: URLSearchParams): number[] {
  const texts = query.getAll('category_id').join().split(',')
  return texts
    .filter(text => /^\d{1,15}$/.test(text))
    .slice(0, CHOSEN_MAX)
    .map(Number)
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
        <code>{SHOWN_COMMAND} seed</code> fills it with sample data.
      </p>
    </>
  )
}

/** A list of resources that are found by words and ordered by name. */
function namedPage<Value>(
  list: 'categories' | 'users',
  query: URLSearchParams,
  rows: ListedItems<Value>,
  columns: readonly string[],
  row: (item: ListedItem<Value>) => Child,
): Framed {
  const empty = query.get('q') ? <NothingFound path={LISTS[list].path} /> : <p>There are no {list} yet.</p>
  return listPage(
    list,
    query,
    <>
      <Filters list={list} query={query} orders={OTHER_ORDERS} />
      <div id="results">
        <ItemTable list={list} rows={rows} row={row} columns={columns} empty={empty} />
      </div>
    </>,
  )
}

/** The page of a list, with the way to a new item if that has a form, and with what became of a deletion. */
export function listPage(list: ListName, query: URLSearchParams, content: Child): Framed {
  const { path, title, noun } = LISTS[list]
  const [deleted, kept] = [Number(query.get('deleted')) || 0, Number(query.get('kept')) || 0]
  return {
    title,
    section: path,
    content: (
      <>
        <div class="title">
          <h1>{title}</h1>
          {list !== 'reviews' && (
            <a class="button primary" href={`/admin/${list}/new`}>
              New {noun}
            </a>
          )}
        </div>
        {deleted + kept > 0 && (
          <Notice>
            {deleted} deleted.{kept > 0 && ` ${kept} not: ${KEPT}`}
          </Notice>
        )}
        {content}
      </>
    ),
  }
}

interface FiltersProperties {
  readonly list: ListName
  readonly query: URLSearchParams
  readonly orders: Readonly<Record<string, string>>
  readonly children?: Child
}

/** A form whose changes show at once; without scripts, it has a button. */
function Filters({ list, query, orders, children }: FiltersProperties) {
  const { path } = LISTS[list]
  const label = `Search ${list}`
  return (
    <search>
      <form
        class="filters"
        action={path}
        hx-get={path}
        hx-target="#results"
        hx-select="#results"
        hx-swap="outerHTML"
        hx-sync="#content:replace"
        hx-trigger="input delay:150ms, submit"
        data-filters
      >
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
        {children}
        <Choice
          name="sort"
          label="Order"
          options={[['', 'Relevance'], ...Object.entries(orders)]}
          chosen={query.get('sort')}
        />
        <noscript>
          <button type="submit">Show</button>
        </noscript>
      </form>
    </search>
  )
}

interface PriceLimitProperties {
  readonly name: string
  readonly label: string
  readonly value: string | null
}

function PriceLimit({ name, label, value }: PriceLimitProperties) {
  return (
    <label class="pair">
      <span>
        {name === 'min_price' && 'Price '}
        {label}
      </span>
      <input name={name} type="number" step="any" value={value ?? ''} aria-label={`Price ${label}`} />
    </label>
  )
}

interface ChoiceProperties {
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [value: string, text: string])[]
  readonly chosen: string | null
}

function Choice({ name, label, options, chosen }: ChoiceProperties) {
  return (
    <label>
      <span>{label}</span>
      <select name={name}>
        {options.map(([value, text]) => (
          <option value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
