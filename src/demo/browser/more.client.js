// A link that shows the next page of a list below those before.

// With these keys, a link opens another tab or window: no script takes its click.
document.addEventListener(
  'click',
  event => {
    if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest('a')) event.stopPropagation()
  },
  true,
)

/**
 * `list` has three functions: `last()` returns the page that was shown last, `took(next)` shows the next one, and `failed(error)`
 * says why there is none.
 */
export function continueAt(link, { last, took, failed }) {
  /** The page whose next one is under way: a double click asks once. */
  let continued = null
  link.addEventListener('click', async event => {
    event.preventDefault()
    const page = last()
    if (page === continued) return
    continued = page
    const { href } = link
    try {
      const next = await page.next()
      // Meanwhile, another choice may have been made, or the same list been read again.
      if (last() === page) {
        if (next) took(next)
      } else if (link.href === href) link.click()
    } catch (error) {
      if (last() === page) failed(error)
    } finally {
      if (continued === page) continued = null
    }
  })
}
