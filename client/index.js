import { follow } from './events.js'
import { listAt } from './pages.js'
import { sender } from './requests.js'
import { resourceAt } from './resources.js'

export {
  Conflict,
  Invalid,
  NotFound,
  RateLimited,
  StockroomError,
  Unauthorized,
  Unavailable,
} from './errors.js'
export { tagOf } from './resources.js'

/** @type {typeof import('./index.d.ts').createClient} */
export function createClient(address, options = {}) {
  const send = sender(address, options)
  const reviews = resourceAt(send, '/reviews/', 'PATCH')
  const products = resourceAt(send, '/products/', 'PUT')
  return {
    categories: resourceAt(send, '/categories/', 'PUT'),
    users: resourceAt(send, '/users/', 'PATCH'),
    products: {
      ...products,
      of: ({ category }) => listAt(send, `/products/${encodeURIComponent(category)}/products`),
      facets: async (query, limits) => (await send('GET', '/facets/products', { ...limits, query })).body,
      rating: async (id, limits) => (await send('GET', `/ratings/products/${encodeURIComponent(id)}`, limits)).body,
    },
    reviews: {
      ...reviews,
      of: ({ product, user }) => listAt(send, reviewsPath(product, user)),
    },
    events: followed => follow(send, options.retries, followed),
  }
}

/**
 * @param {number | undefined} product
 * @param {number | undefined} user
 */
function reviewsPath(product, user) {
  const ofProduct = product === undefined ? '' : `/products/${encodeURIComponent(product)}`
  const ofUser = user === undefined ? '' : `/users/${encodeURIComponent(user)}`
  return `/reviews${ofProduct}${ofUser}`
}
