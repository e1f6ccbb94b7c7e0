// Follows the change feed while the page is visible, lists what happens, and tells the page.

import { NotFound } from '../client/index.js'
import { element, elements, html } from './html.js'
import { given, money } from './tiles.js'

const SHOWN = 30
/** Reviews that come together are asked for together. */
const TOGETHER_MS = 200
/** After this time, a stream that could not be opened is tried again. */
const AGAIN_MS = 2_000

const { events: list, 'live-state': state } = elements

/** What the panel knows of products, by id. */
const known = new Map()

export function remember(products) {
  for (const { id, name, price } of products) known.set(id, { name, price })
}

/**
 * `page` has three functions: `reload()` when anything may have changed or failed, `repriced({ id, name, price })`, and
 * `rated(products)` with the new ratings. Resolves when the page may read its lists without missing a change.
 */
export function follow(shop, page) {
  const first = Promise.withResolvers()
  let following = new AbortController()
  let since
  // A tab that is opened in the background reads its lists first, and follows them when it is shown. While the server is away,
  // requests of the page fail.
  let isLate = document.hidden
  const start = async () => {
    say('lost', 'connecting…')
    following = new AbortController()
    const { signal } = following
    const onConnection = isConnected => {
      if (signal.aborted) return
      if (isConnected) say('on', 'live')
      else say('lost', 'connecting…')
      if (isConnected && isLate) page.reload()
      isLate = !isConnected
    }
    const events = shop.events({ types: ['product', 'review'], since, signal, onConnection })
    try {
      for await (const event of events) {
        first.resolve()
        take(event, shop, page)
        since = events.position
      }
    } catch (error) {
      isLate = true
      say('off', error instanceof NotFound ? 'no change feed on this server' : 'not connected')
      if (!(error instanceof NotFound)) setTimeout(goOn, AGAIN_MS)
    }
    first.resolve()
  }
  const goOn = () => {
    if (!document.hidden && ['paused', 'off'].includes(state.dataset.is)) start()
  }
  // A browser has six connections to a server, for all its tabs together. A hidden one gives its own back, and later goes on
  // where it was.
  document.addEventListener('visibilitychange', () => {
    goOn()
    if (document.hidden && ['on', 'lost'].includes(state.dataset.is)) {
      following.abort()
      isLate ||= since === undefined
      say('paused', 'paused')
    }
  })
  if (document.hidden) {
    say('paused', 'paused')
    first.resolve()
  } else start()
  return first.promise
}

function take(event, shop, page) {
  const { type, data } = event
  if (type === 'product.updated') {
    const before = known.get(data.id)?.price ?? data.price
    remember([data])
    tell(
      event,
      data.id,
      html`${before === data.price ? '' : html`<s>${money(before)}</s> `}<b>${money(data.price)}</b>`,
    )
    page.repriced(data)
  } else if (type.startsWith('review.')) {
    waiting.push(event)
    if (waiting.length === 1) setTimeout(() => askRatings(shop, page), TOGETHER_MS)
  } else if (type !== 'ready') {
    page.reload()
  }
}

let waiting = []

/** An event of a review has no rating of its product, so the page asks for it. */
async function askRatings(shop, page) {
  const events = waiting
  waiting = []
  const ids = [...new Set(events.flatMap(({ data }) => [data.product_id, data.from_product_id ?? data.product_id]))]
  try {
    const { items } = await shop.products.list({ id: ids.slice(0, 100), fields: ['id', 'name', 'price', 'rating'] })
    remember(items)
    for (const event of events) tell(event, event.data.product_id, given(event.data.rating))
    page.rated(items)
  } catch {
    // The next event asks again.
  }
}

function tell({ type, time }, id, what) {
  const name = known.get(id)?.name ?? `Product ${id}`
  list.prepend(
    element(html`
      <li class="${type.replace('.', ' ')}">
        <code>${type}</code> <time datetime="${time}">${new Date(time).toLocaleTimeString('en-GB')}</time>
        <a href="/shop/${id}" dir="auto">${name}</a> <span>${what}</span>
      </li>`),
  )
  while (list.children.length > SHOWN) list.lastElementChild.remove()
}

function say(is, text) {
  state.dataset.is = is
  state.textContent = text
}
