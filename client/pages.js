import { isEmpty, isGiven } from './requests.js'

/**
 * @import { Limits, Query, Send } from './requests.js'
 * @typedef {(limits?: Limits) => Promise<Page | null>} Next
 * @typedef {{ items: any[], total: number | undefined, hasNext: boolean, cursor: string | undefined, next: Next }} Page
 */

/**
 * A list of resources: page by page, or item by item.
 * @param {Send} send
 * @param {string} path
 */
export function listAt(send, path) {
  /**
   * @param {Query & { id?: unknown, count?: unknown }} [query]
   * @param {Limits} [limits]
   * @returns {Promise<Page>}
   */
  async function list(query = {}, limits = {}) {
    if (isEmpty(query.id)) {
      limits.signal?.throwIfAborted()
      const total = query.count === undefined ? undefined : 0
      return { items: [], total, hasNext: false, cursor: undefined, next: async () => null }
    }
    const given = Object.fromEntries(Object.entries(query).filter(isGiven))
    return page(path, isPlain(given) ? { after_id: 0, ...given } : given, limits)
  }

  /**
   * @param {Query} [query]
   * @param {Limits} [limits]
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async function* all(query, limits) {
    /** @type {Page | null} */
    let page = await list(query, limits)
    for (; page; page = await page.next(limits)) {
      for (const item of page.items) {
        limits?.signal?.throwIfAborted()
        yield item
      }
    }
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
      hasNext: search !== undefined,
      cursor: new URLSearchParams(search).get('cursor') ?? undefined,
      // The link's own path lacks the prefix that a proxy may have removed. A signal is for one page.
      next: async ({ signal, retries = limits.retries, timeoutMs = limits.timeoutMs } = {}) =>
        search === undefined ? null : page(path + search, {}, { signal, retries, timeoutMs }),
    }
  }

  return { list, all }
}

/**
 * Whether the list is in the order of ids, from its beginning. With `after_id`, its pages miss nothing while others delete.
 * @param {Query} given
 */
function isPlain(given) {
  return Object.keys(given).every(name => name === 'limit' || name === 'fields')
}

/** @param {string | null} link */
function nextIn(link) {
  return /<[^>?]*(\?[^>]*)>; *rel="?next/.exec(link ?? '')?.[1]
}
