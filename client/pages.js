/**
 * @import { Query, Limits, Send } from './requests.js'
 * @typedef {{ items: any[], total: number | undefined, next: () => Promise<Page | null> }} Page
 */

/**
 * A list of resources: page by page, or item by item.
 * @param {Send} send
 * @param {string} path
 */
export function listAt(send, path) {
  /**
   * @param {Query} [query]
   * @param {Limits} [limits]
   */
  const list = (query = {}, limits = {}) => page(path, isPlain(query) ? { after_id: 0, ...query } : query, limits)

  /**
   * @param {Query} [query]
   * @param {Limits} [limits]
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async function* all(query, limits) {
    /** @type {Page | null} */
    let page = await list(query, limits)
    for (; page; page = await page.next()) yield* page.items
  }

  /**
   * @param {string} address
   * @param {Query} query
   * @param {Limits} limits
   * @returns {Promise<Page>}
   */
  async function page(address, query, limits) {
    const { response, body } = await send('GET', address, { ...limits, query })
    const total = response.headers.get('X-Total-Count')
    const search = nextIn(response.headers.get('Link'))
    return {
      items: body,
      total: total === null ? undefined : Number(total),
      // The link's own path lacks the prefix that a proxy may have removed.
      next: async () => (search === undefined ? null : page(path + search, {}, limits)),
    }
  }

  return { list, all }
}

/**
 * Whether the list is in the order of ids, from its beginning. With `after_id`, its pages miss nothing while others delete.
 * @param {Query} query
 */
function isPlain(query) {
  return Object.entries(query).every(([name, value]) => value === undefined || name === 'limit' || name === 'fields')
}

/** @param {string | null} link */
function nextIn(link) {
  return /<[^>?]*(\?[^>]*)>; *rel="?next/.exec(link ?? '')?.[1]
}
