// A link that shows the next page of a list below those before. The address has the number of items that are shown.

/** The API lists, and counts, no more at once. */
export const COUNTED = 1_000

// With these keys, a link opens another tab or window: no script takes its click.
document.addEventListener(
  'click',
  event => {
    if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest('a')) event.stopPropagation()
  },
  true,
)

/** The number of items that the address asks for. */
export function shownLimit(pageLength) {
  return Number(new URLSearchParams(location.search).get('limit')) || pageLength
}

/**
 * `list` has three functions: `nextAddress()` returns the address of the list with its next page, `took(next)` shows that page, and
 * `failed(error)` says why there is none. Call the result with each page that is shown.
 */
export function continueAt(link, { nextAddress, took, failed }) {
  let last = null
  /** The page whose next one is under way: a double click asks once. */
  let continued = null
  link.addEventListener('click', async event => {
    event.preventDefault()
    const page = last
    if (page === continued) return
    continued = page
    const { href } = link
    try {
      const next = await page.next()
      // Meanwhile, another choice may have been made, or the same list been read again.
      if (last === page) {
        if (next) took(next)
      } else if (link.href === href) link.click()
    } catch (error) {
      if (last === page) failed(error)
    } finally {
      if (continued === page) continued = null
    }
  })
  return page => {
    last = page
    link.hidden = !page.hasNext
    link.href = nextAddress()
  }
}
