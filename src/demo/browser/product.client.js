// The page of one product. The server has sent its name and price; ratings and reviews come from the API.

import { createClient, Invalid } from '../client/index.js'
import { element, elements, html } from './html.js'
import { follow, remember } from './live.js'
import { COUNTED, continueAt, shownLimit } from './more.js'
import { recorded } from './requests.js'
import { given, glow, rating, reviewsText, showPrice } from './tiles.js'

const PAGE = 10
const FAILED = 'The shop does not answer'
const FIELDS = ['id', 'rating', 'comment', 'user']

const { rating: about, price, histogram, reviews: list, more, write, sent, back } = elements
const product = Number(document.querySelector('[data-id]').dataset.id)
const visitor = Number(document.querySelector('[data-visitor]').dataset.visitor)

const shop = createClient('/', { fetch: recorded })
const quiet = createClient('/')

let loading = new AbortController()
let isSending = false
let shownPrice = Number(price.dataset.price)

// Back to the list as it was filtered.
if (URL.canParse(document.referrer)) {
  const { origin, pathname } = new URL(document.referrer)
  if (origin === location.origin && pathname === '/') back.href = document.referrer
}

histogram.addEventListener('click', event => {
  const link = event.target.closest('a')
  if (!link) return
  event.preventDefault()
  history.pushState(null, '', link.href)
  load(shop)
})
addEventListener('popstate', () => load(shop))
const shown = continueAt(more, {
  nextAddress: () => addressOf(chosenStars(), list.children.length + PAGE),
  took: next => {
    add(next)
    history.replaceState(null, '', addressOf(chosenStars(), list.children.length))
    // The pressed link is gone: from the body, a keyboard would begin at the top.
    if (more.hidden) list.focus({ preventScroll: true })
    sent.textContent = ''
  },
  failed: showFailure,
})
write.addEventListener('submit', async event => {
  event.preventDefault()
  if (isSending) return
  isSending = true
  const fields = new FormData(write)
  const review = {
    product_id: product,
    user_id: visitor,
    rating: Number(fields.get('rating')),
    comment: fields.get('comment'),
  }
  try {
    await shop.reviews.create(review)
    clear(write.elements, review)
    sent.textContent = 'Thank you. All open pages show it now.'
    await load(quiet)
  } catch (error) {
    sent.textContent = error instanceof Invalid ? error.errors.map(({ msg }) => msg).join('. ') : error.message
  } finally {
    isSending = false
  }
})

await follow(quiet, {
  reload: () => load(quiet),
  repriced({ id, price: now }) {
    if (id === product) reprice(now)
  },
  rated(products) {
    if (products.some(({ id }) => id === product)) load(quiet).then(() => glow(about))
  },
})
await load(shop)

async function load(client) {
  loading.abort()
  loading = new AbortController()
  const { signal } = loading
  const limit = shownLimit(PAGE)
  const query = { rating: chosenStars(), sort: '-id', limit: Math.min(limit, COUNTED), count: COUNTED, fields: FIELDS }
  const fields = ['id', 'name', 'price', 'rating']
  const before = shownPrice
  const asked = [
    client.products.get(product, { fields, signal }),
    client.reviews.of({ product }).list(query, { signal }),
  ]
  const answers = await Promise.all(asked).catch(error => {
    if (!signal.aborted) showFailure(error)
  })
  if (!answers) return
  // More reviews were added meanwhile.
  if (limit !== shownLimit(PAGE)) return load(client)
  const [now, reviews] = answers
  remember([now])
  // A price that an event has told meanwhile is newer.
  if (shownPrice === before) reprice(now.price)
  if (sent.textContent.startsWith(FAILED)) sent.textContent = ''
  about.innerHTML = rating(now.rating)
  showHistogram(now.rating)
  list.replaceChildren()
  add(reviews)
  if (reviews.total === 0) list.append(element(html`<li class="quiet">No reviews yet. Write the first one.</li>`))
}

function reprice(now) {
  if (now === shownPrice) return
  showPrice(price, shownPrice, now)
  shownPrice = now
  glow(price)
}

/** Clears the form, except for what was typed or chosen while it was being sent. */
function clear({ comment, rating }, review) {
  const [typed, chosen] = [comment.value, rating.value]
  write.reset()
  if (chosen !== String(review.rating)) rating.value = chosen
  const text = review.comment
  if (typed !== text) comment.value = typed.startsWith(text) ? typed.slice(text.length) : typed
}

function showFailure({ message }) {
  sent.textContent = `${FAILED}: ${message}`
}

function showHistogram({ histogram: counts, count }) {
  const chosen = chosenStars()
  const rows = counts.map((reviews, place) => {
    const number = place + 1
    const width = count === 0 ? 0 : (reviews / count) * 100
    const to = number === chosen ? addressOf() : addressOf(number)
    return html`
      <a href="${to}" ${number === chosen ? html`aria-current="true"` : ''}>
        <span>${number}<span class="visually-hidden"> ${number === 1 ? 'star' : 'stars'}: </span></span>
        <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="10"/><rect class="full" width="${width}" height="10"/></svg>
        <span>${reviews}<span class="visually-hidden"> ${reviewsText(reviews)}</span></span>
      </a>`
  })
  const focused = [...histogram.children].indexOf(document.activeElement)
  histogram.innerHTML = html`${rows.toReversed()}`
  histogram.children[focused]?.focus()
}

function add(page) {
  list.insertAdjacentHTML(
    'beforeend',
    html`${page.items.map(
      ({ rating, comment, user }) => html`
        <li>
          <img src="${user.avatar}" alt="" width="40" height="40">
          <p><b dir="auto">${user.name}</b> ${given(rating)}</p>
          <p dir="auto">${comment}</p>
        </li>`,
    )}`,
  )
  shown(page)
}

function chosenStars() {
  return Number(new URLSearchParams(location.search).get('rating')) || undefined
}

function addressOf(stars, limit) {
  const query = new URLSearchParams({ ...(stars && { rating: stars }), ...(limit && { limit }) })
  return query.size === 0 ? location.pathname : `${location.pathname}?${query}`
}
