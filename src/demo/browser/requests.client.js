// Lists the requests behind the page's controls as lines of curl, each with its time, to be copied.

import { element, elements, html } from './html.js'

const SHOWN = 12

const { requests: list } = elements

/** Like `fetch`, and shows what was asked. */
export async function recorded(address, init = {}) {
  const told = show(curl(new URL(address, location.origin).href, init))
  const start = performance.now()
  try {
    const answer = await fetch(address, init)
    told.querySelector('data').textContent = `${Math.max(1, Math.round(performance.now() - start))} ms`
    if (!answer.ok) told.querySelector('.trouble').textContent = answer.status
    return answer
  } catch (error) {
    // Nobody waits for it any more: something else has been typed.
    if (init.signal?.aborted) told.remove()
    else told.querySelector('.trouble').textContent = 'no answer'
    throw error
  }
}

function show(line) {
  const item = element(html`
    <li>
      <code>${line}</code>
      <span class="trouble"></span>
      <data></data>
      <button type="button" aria-label="Copy this request">Copy</button>
    </li>`)
  const button = item.querySelector('button')
  button.addEventListener('click', () => copy(line, button))
  list.prepend(item)
  while (list.children.length > SHOWN) list.lastElementChild.remove()
  return item
}

function curl(address, { method = 'GET', headers = {}, body }) {
  // A comma may stand in a query as it is.
  const shown = [method === 'GET' ? 'curl' : `curl -X ${method}`, quoted(address.replaceAll('%2C', ','))]
  if (headers['Content-Type']) shown.push('-H', quoted(`Content-Type: ${headers['Content-Type']}`))
  if (body !== undefined) shown.push('-d', quoted(body))
  return shown.join(' ')
}

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`
}

async function copy(line, button) {
  try {
    await navigator.clipboard.writeText(line)
    button.textContent = 'Copied'
  } catch {
    // Pages without HTTPS have no clipboard, so the reader copies the selected line.
    getSelection().selectAllChildren(button.closest('li').querySelector('code'))
    button.textContent = 'Selected'
  }
  setTimeout(() => {
    button.textContent = 'Copy'
  }, 1_500)
}
