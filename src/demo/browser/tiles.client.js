// What both pages show of a product.

import { element, html } from './html.js'

const CHANGED_MS = 2_500

const usd = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })

export const money = price => usd.format(price)

function stars(average) {
  return html`<svg class="stars" viewBox="0 0 100 20" aria-hidden="true"><rect width="100" height="20"/><rect class="full" width="${average * 20}" height="20"/></svg>`
}

/** The stars of a review. */
export function given(rating) {
  return html`${stars(rating)}<span class="visually-hidden">${rating} of 5 stars</span>`
}

export function reviewsText(count) {
  return count === 1 ? 'review' : 'reviews'
}

export function rating({ average, count }) {
  if (count === 0) return html`<span class="quiet">No reviews yet</span>`
  const mean = average.toFixed(1)
  return html`${stars(average)} <span class="visually-hidden">Rated ${mean} of 5, </span><b aria-hidden="true">${mean}</b> <span class="quiet">(${count}<span class="visually-hidden"> ${reviewsText(count)}</span>)</span>`
}

export function tile({ id, name, price, rating: stars, highlights }) {
  return html`
    <li data-id="${id}" data-price="${price}">
      <img src="/pictures/${id}?name=${encodeURIComponent(name)}" alt="" width="240" height="240" loading="lazy">
      <h2 dir="auto"><a href="/shop/${id}">${title(highlights?.name ?? [{ text: name, match: false }])}</a></h2>
      <p class="rating">${rating(stars)}</p>
      <p class="price">${money(price)}</p>
    </li>`
}

/** The name, with the words that were found marked, and the size in a line of its own. */
function title(parts) {
  return parts.map(({ text, match }) => {
    if (match) return html`<mark>${text}</mark>`
    const [before, ...size] = text.split(', ')
    return size.length === 0 ? text : html`${before} <small>${size.join(', ')}</small>`
  })
}

/** Shows the new price beside the old one. */
export function showPrice(place, before, price) {
  const percent = Math.round((price / before - 1) * 100)
  const way = price > before ? 'up' : 'down'
  const change = percent === 0 ? '' : html` <span class="${way}">${percent > 0 ? '+' : '−'}${Math.abs(percent)}%</span>`
  place.replaceChildren(...element(html`<p>${money(price)}${change}</p>`).childNodes)
}

const glowing = new WeakMap()

export function glow(place) {
  clearTimeout(glowing.get(place))
  place.classList.add('changed')
  glowing.set(
    place,
    setTimeout(() => place.classList.remove('changed'), CHANGED_MS),
  )
}
