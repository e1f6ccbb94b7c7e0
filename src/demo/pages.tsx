/** @jsxImportSource hono/jsx */

import { raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import type { ProductMembers } from 'stockroom/client'
import { ICON_PATH, PAGE_STYLES_PATH, staticPath } from '../pages/static.ts'
import { FILES } from './static-files.ts'

/** The bounds of the price bands, in USD. */
const PRICE_BOUNDS = [20, 40, 80, 160]

const ORDERS = [
  ['', 'Featured'],
  ['-rating', 'Best rated'],
  ['-reviews', 'Most reviews'],
  ['price', 'Lowest price'],
  ['-price', 'Highest price'],
  ['name', 'Name'],
  ['-id', 'Newest'],
] as const

const USD = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

interface FrameProperties {
  readonly title: string
  readonly script?: 'shop/shop.js' | 'shop/product.js'
  readonly head?: Child
  readonly children?: Child
}

function Frame({ title, script, head, children }: FrameProperties) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="icon" href={ICON_PATH} type="image/svg+xml" />
        <link rel="stylesheet" href={PAGE_STYLES_PATH} />
        <link rel="stylesheet" href={staticPath('shop.css', FILES['shop.css'])} />
        {script && <script type="module" src={staticPath(script, FILES[script])}></script>}
        {head}
      </head>
      <body>
        <Star />
        <header class="top">
          <a class="brand" href="/">
            Hearth &amp; Field
          </a>
          <p>A demo shop: all you see comes from Stockroom’s API</p>
          <nav aria-label="About">
            <a href="/docs">API docs</a>
          </nav>
        </header>
        {children}
        <noscript>
          <p class="notice">The shop needs JavaScript: its page is a client of the API.</p>
        </noscript>
      </body>
    </html>
  )
}

/** Clips a bar to five stars. */
function Star() {
  const star = 'M10 1.5l2.6 5.4 5.9.8-4.3 4.1 1 5.9L10 14.9l-5.2 2.8 1-5.9L1.5 7.7l5.9-.8z'
  return (
    <svg class="visually-hidden" aria-hidden="true" width="0" height="0">
      <clipPath id="five-stars">
        {[0, 20, 40, 60, 80].map(x => (
          <path d={star} transform={`translate(${x} 0)`} />
        ))}
      </clipPath>
    </svg>
  )
}

/** The requests of the page to the service, as lines of curl. */
function Requests() {
  return (
    <section class="requests" aria-labelledby="requests-title">
      <h2 id="requests-title">What this page has asked the API</h2>
      <ol id="requests"></ol>
    </section>
  )
}

function Live({ children }: { readonly children?: Child }) {
  return (
    <aside class="live" aria-labelledby="live-title">
      <h2 id="live-title">
        Live <span id="live-state">connecting…</span>
      </h2>
      {children}
      <p id="no-events">Changes by anyone appear here and in the page: prices, reviews.</p>
      <ol id="events" class="events"></ol>
    </aside>
  )
}

interface ShopPage {
  readonly categories: readonly { readonly id: number; readonly name: string }[]
  /** The query of the page's address. */
  readonly asked: URLSearchParams
}

export function shopPage({ categories, asked }: ShopPage): string {
  const bands = [null, ...PRICE_BOUNDS].map((min, place) => {
    const max = PRICE_BOUNDS[place] ?? null
    const label = min === null ? `Under $${max}` : max === null ? `$${min} and more` : `$${min} to $${max}`
    return [`${min ?? ''}-${max ?? ''}`, label] as const
  })
  return page(
    <Frame title="Hearth & Field: a shop on Stockroom" script="shop/shop.js">
      <main class="shop">
        <h1 class="visually-hidden">Products</h1>
        <search>
          <form id="search" class="search" action="/" method="get">
            <input
              type="search"
              name="q"
              value={asked.get('q') ?? ''}
              maxlength={200}
              dir="auto"
              autocomplete="off"
              spellcheck={false}
              aria-label="Search products"
              placeholder="Try “copper”"
            />
            <label class="order">
              <span>Order</span>
              <select name="sort">
                {ORDERS.map(([value, label]) => (
                  <option value={value} selected={asked.getAll('sort').includes(value)}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          </form>
        </search>
        <Requests />
        <details class="filters" id="filters">
          <summary>Filters</summary>
          <Filter
            legend="Category"
            type="checkbox"
            name="category_id"
            asked={asked}
            choices={categories.map(({ id, name }) => [String(id), name])}
          />
          <Filter
            legend="Price"
            type="radio"
            name="price"
            asked={asked}
            choices={[['', 'Any'], ...bands]}
            bounds={PRICE_BOUNDS.join(',')}
          />
          <Filter
            legend="Stars"
            type="radio"
            name="min_rating"
            asked={asked}
            choices={[['', 'Any'], ...[4, 3, 2].map(stars => [String(stars), <AndUp stars={stars} />] as const)]}
          />
        </details>
        <Live>
          <button id="busy" type="button" role="switch" aria-checked="false">
            Make it busy
          </button>
          <p class="hint">Five prices and two reviews a second. Open the shop in a second window to watch both.</p>
        </Live>
        <section class="found" aria-label="Products">
          <p class="total">
            <output id="total" form="search"></output>{' '}
            <a id="clear" href="/" hidden>
              Clear all
            </a>
          </p>
          <ul id="products" class="tiles" aria-busy="true"></ul>
          <p>
            <a id="more" class="button" href="/" hidden>
              Show more
            </a>
          </p>
        </section>
      </main>
    </Frame>,
  )
}

interface FilterProperties {
  readonly legend: string
  readonly type: 'checkbox' | 'radio'
  readonly name: string
  readonly asked: URLSearchParams
  /** The empty value stands for no filter. */
  readonly choices: readonly (readonly [value: string, label: Child])[]
  /** The bounds of its bands, for the script. */
  readonly bounds?: string
}

function Filter({ legend, type, name, asked, choices, bounds }: FilterProperties) {
  const isChosen = (value: string) => (value === '' ? !asked.get(name) : asked.getAll(name).includes(value))
  return (
    <fieldset data-bounds={bounds}>
      <legend>{legend}</legend>
      {choices.map(([value, label]) => (
        <label class="choice">
          <input type={type} name={name} value={value} checked={isChosen(value)} form="search" />
          <span dir="auto">{label}</span>
          <data></data>
        </label>
      ))}
    </fieldset>
  )
}

function AndUp({ stars }: { readonly stars: number }) {
  return (
    <>
      <Stars average={stars} /> <span class="visually-hidden">{stars} stars </span>&amp; up
    </>
  )
}

function Stars({ average }: { readonly average: number }) {
  return (
    <svg class="stars" viewBox="0 0 100 20" aria-hidden="true">
      <rect width="100" height="20" />
      <rect class="full" width={average * 20} height="20" />
    </svg>
  )
}

type ShownProduct = Pick<ProductMembers, 'id' | 'name' | 'description' | 'price' | 'rating'>

interface ProductPage {
  readonly product: ShownProduct
  readonly visitor: number
  readonly origin: string
}

export function productPage({ product, visitor, origin }: ProductPage): string {
  const { id, name, description, price } = product
  const picture = `/pictures/${id}?name=${encodeURIComponent(name)}`
  return page(
    <Frame
      title={`${name} · Hearth & Field`}
      script="shop/product.js"
      head={<StructuredData product={product} url={`${origin}/shop/${id}`} image={origin + picture} />}
    >
      <main class="product" data-id={String(id)} data-visitor={String(visitor)}>
        <p class="back">
          <a id="back" href="/">
            ← All products
          </a>
        </p>
        <img class="picture" src={picture} alt="" width="600" height="600" />
        <div class="about">
          <h1 dir="auto">{name}</h1>
          <p id="rating" class="rating"></p>
          <p class="price" id="price" data-price={String(price)}>
            {USD.format(price)}
          </p>
          <p class="description" dir="auto">
            {description}
          </p>
          <h2>Ratings</h2>
          <div id="histogram" class="histogram"></div>
        </div>
        <Requests />
        <section class="reviews" aria-labelledby="reviews-title">
          <h2 id="reviews-title">Reviews</h2>
          <ol id="reviews" tabindex={-1}></ol>
          <p>
            <a id="more" class="button" href="?" hidden>
              Show more
            </a>
          </p>
        </section>
        <section class="write" aria-labelledby="write-title">
          <h2 id="write-title">Write a review</h2>
          <form id="write">
            <fieldset class="rate">
              <legend>Your rating</legend>
              {[1, 2, 3, 4, 5].map(stars => (
                <label>
                  <input type="radio" name="rating" value={String(stars)} required />
                  <span>
                    {stars} <span class="visually-hidden">{stars === 1 ? 'star' : 'stars'}</span>
                  </span>
                </label>
              ))}
            </fieldset>
            <label class="comment">
              Your comment
              <textarea name="comment" rows={3} required maxlength={2_000} dir="auto"></textarea>
            </label>
            <button type="submit">Send the review</button>
            <output id="sent"></output>
          </form>
        </section>
        <Live />
      </main>
    </Frame>,
  )
}

/** For a product that does not exist, or not any more. */
export function missingPage(): string {
  return page(
    <Frame title="Not here · Hearth & Field">
      <main>
        <h1>This product is not here</h1>
        <p>
          It may have been deleted. <a href="/">All products</a>
        </p>
      </main>
    </Frame>,
  )
}

interface StructuredDataProperties {
  readonly product: ShownProduct
  readonly url: string
  readonly image: string
}

/** Data for search engines (https://schema.org/Product). They reject a rating of nobody. */
function StructuredData({ product, url, image }: StructuredDataProperties) {
  const { name, description, price, rating } = product
  const data = {
    '@context': 'https://schema.org',
    '@type': 'Product',
    name,
    description,
    image,
    url,
    offers: {
      '@type': 'Offer',
      price: price.toFixed(2),
      priceCurrency: 'USD',
      availability: 'https://schema.org/InStock',
    },
    ...(rating.count > 0 && {
      aggregateRating: {
        '@type': 'AggregateRating',
        ratingValue: rating.average,
        reviewCount: rating.count,
        bestRating: 5,
        worstRating: 1,
      },
    }),
  }
  // A data block, which no policy stops, because nothing runs it. No text in it may end the element.
  return <script type="application/ld+json">{raw(JSON.stringify(data).replaceAll('<', '\\u003c'))}</script>
}

function page(frame: Child): string {
  return `<!doctype html>${frame}`
}
