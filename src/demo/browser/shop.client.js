// The page of all products. The form's fields are the state: they say what to ask for, and the address bar repeats them.

import { createClient, NotFound } from '../client/index.js'
import { elements, html } from './html.js'
import { follow, remember } from './live.js'
import { COUNTED, continueAt, shownLimit } from './more.js'
import { recorded } from './requests.js'
import { glow, rating, showPrice, tile } from './tiles.js'

const PAGE = 24
const BUSY_CHECK_MS = 10_000
/** The API counts no more. One of them stands for products without a category. */
const CATEGORIES = 200
const FIELDS = ['id', 'name', 'price', 'rating', 'highlights']

const { search: form, products: list, total, more, clear, busy, filters } = elements
const bounds = document.querySelector('[data-bounds]').dataset.bounds.split(',').map(Number)

// The requests behind the controls are shown; those that follow the feed are not.
const shop = createClient('/', { fetch: recorded })
const quiet = createClient('/')

let loading = new AbortController()

// Not at the form: the filters belong to it, but are not inside it.
document.addEventListener('input', ({ target }) => {
  // Typing is one step back for the browser, any other choice is one of its own.
  if (target.name === 'q') history.replaceState(null, '', address())
  else history.pushState(null, '', address())
  load(shop)
})
form.addEventListener('submit', event => event.preventDefault())
addEventListener('popstate', () => {
  fill(new URLSearchParams(location.search))
  load(shop)
})
clear.addEventListener('click', event => {
  event.preventDefault()
  history.pushState(null, '', '/')
  fill(new URLSearchParams())
  load(shop)
  form.elements.q.focus()
})
const shown = continueAt(more, {
  nextAddress: () => address(list.children.length + PAGE),
  took: next => {
    const before = list.children.length
    add(next)
    history.replaceState(null, '', address(list.children.length))
    list.children[before]?.querySelector('a').focus()
  },
  failed: showFailure,
})
busy.addEventListener('click', async () => {
  const body = String(busy.ariaChecked !== 'true')
  const headers = { 'Content-Type': 'application/json' }
  try {
    const answer = await recorded('/busy', { method: 'PUT', headers, body })
    if (!answer.ok) throw new Error(`it says ${answer.status}`)
    busy.ariaChecked = await answer.text()
  } catch (error) {
    showFailure(error)
  }
})

// The browser may have kept the page, and this changes: after some minutes, the shop calms down by itself.
addEventListener('pageshow', () => showBusy().catch(showFailure))
setInterval(() => {
  if (busy.ariaChecked === 'true' && !document.hidden) showBusy().catch(() => {})
}, BUSY_CHECK_MS)

const wide = matchMedia('(min-width: 60rem)')
const unfold = () => {
  filters.open = wide.matches
}
wide.addEventListener('change', unfold)
unfold()

await follow(quiet, {
  reload: () => load(quiet),
  repriced({ id, price }) {
    const item = itemOf(id)
    if (!item || Number(item.dataset.price) === price) return
    showPrice(item.querySelector('.price'), Number(item.dataset.price), price)
    item.dataset.price = price
    glow(item)
  },
  rated(products) {
    for (const product of products) {
      const item = itemOf(product.id)
      if (!item) continue
      item.querySelector('.rating').innerHTML = rating(product.rating)
      glow(item)
    }
  },
})
await load(shop)

/** Asks for the products and the counts that fit the form. */
async function load(client) {
  loading.abort()
  loading = new AbortController()
  const { signal } = loading
  list.ariaBusy = 'true'
  try {
    await Promise.all([showCounts(client, signal), showProducts(client, signal)])
  } catch (error) {
    if (!signal.aborted) showFailure(error)
  }
}

async function showBusy() {
  const isBusy = await (await fetch('/busy')).json()
  // An error is no answer.
  if (typeof isBusy === 'boolean') busy.ariaChecked = String(isBusy)
}

function showFailure({ message }) {
  list.ariaBusy = 'false'
  total.textContent = `The shop does not answer: ${message}`
}

async function showProducts(client, signal) {
  const limit = shownLimit(PAGE)
  const { sort, ...chosen } = asked()
  const order = sort ?? (chosen.q ? 'relevance' : '-reviews')
  const query = { ...chosen, sort: order, limit: Math.min(limit, COUNTED), count: COUNTED, fields: FIELDS }
  const page = await client.products.list(query, { signal })
  // More products were added meanwhile.
  if (limit !== shownLimit(PAGE)) return showProducts(client, signal)
  const focused = document.activeElement?.closest('#products a')?.getAttribute('href')
  list.replaceChildren()
  add(page)
  if (focused) list.querySelector(`a[href="${focused}"]`)?.focus({ preventScroll: true })
  list.ariaBusy = 'false'
  clear.hidden = address() === '/'
}

/** The number of products behind each choice. */
async function showCounts(client, signal) {
  const { sort, ...chosen } = asked()
  const facets = await client.products
    .facets({ ...chosen, category_limit: CATEGORIES, price_bands: bounds }, { signal })
    .catch(error => {
      // This version of the service may have no facets.
      if (error instanceof NotFound) return null
      throw error
    })
  if (!facets) return
  const counts = new Map([
    ...facets.category_id.map(({ value, count }) => [`category_id ${value}`, count]),
    ...facets.price.bands.map(({ min, max, count }) => [`price ${min ?? ''}-${max ?? ''}`, count]),
    ...facets.rating.map(({ min, count }) => [`min_rating ${min}`, count]),
  ])
  for (const choice of filters.querySelectorAll('.choice')) {
    const { name, value } = choice.querySelector('input')
    const count = value === '' ? undefined : (counts.get(`${name} ${value}`) ?? 0)
    choice.querySelector('data').textContent = count ?? ''
    choice.classList.toggle('none', count === 0)
  }
}

/** What the form asks for, in the words of the API. */
function asked() {
  const fields = new FormData(form)
  const text = name => fields.get(name) || undefined
  const [min, below] = (text('price') ?? '-').split('-')
  return {
    q: text('q'),
    category_id: fields.getAll('category_id'),
    min_price: min || undefined,
    below_price: below || undefined,
    min_rating: text('min_rating'),
    sort: text('sort'),
  }
}

function address(limit) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ''))
  if (limit) query.set('limit', limit)
  return query.size === 0 ? '/' : `/?${query}`
}

/** Sets the form to an address. */
function fill(query) {
  for (const field of form.elements) {
    if (field.type === 'checkbox') field.checked = query.getAll(field.name).includes(field.value)
    else if (field.type === 'radio') field.checked = (query.get(field.name) ?? '') === field.value
    else if (field.name) field.value = query.get(field.name) ?? ''
  }
}

function add(page) {
  const { items, total: count } = page
  remember(items)
  list.insertAdjacentHTML('beforeend', html`${items.map(tile)}`)
  total.textContent =
    count === 0
      ? 'Nothing found. Try another word, or fewer filters.'
      : `${count}${count === COUNTED ? '+' : ''} ${count === 1 ? 'product' : 'products'}`
  shown(page)
}

function itemOf(id) {
  return list.querySelector(`[data-id="${id}"]`)
}
