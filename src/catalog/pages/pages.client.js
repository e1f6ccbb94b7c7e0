// What the pages do besides htmx: deletions that can be undone, keys in lists, imports with a bar, and news of the connection.

const DELETION_WAIT_MS = 10_000
const ASK_AGAIN_MS = 2_000

/** How long the list of a new page may show what the page before has deleted. */
const RELOAD_AFTER_MS = 1_000
const SENT_LATE = 'stockroom deletions sent late'

/** Limit on the deletions that wait. When the page goes, browsers send no more than 64 KiB, and the server takes 1,000 in a request. */
const WAITING_MAX = 500

/** The code of every key that an input method takes. Safari tells of Escape when the composition has ended. */
const INPUT_METHOD_KEY = 229

const root = document.documentElement
root.classList.add('has-scripts')
// Not scrollIntoView: the first Tab would begin behind this link, past the one that skips to the content.
const section = document.querySelector('.top [aria-current]')
if (section) section.parentElement.scrollLeft = section.offsetLeft - section.parentElement.clientWidth / 2

// Not the style: the policy allows none in attributes, and a text area has one once somebody has resized it.
htmx.config.attributesToSettle = ['class']

/** Tells screen readers. */
function tell(text) {
  const told = document.getElementById('told')
  if (told) told.textContent = text
}

// The connection

let lostFilters = null
let asking = 0
let hiding = 0

function showConnection(text, isBack = false) {
  clearTimeout(hiding)
  const place = document.getElementById('connection')
  if (!place) return
  // A link in it goes away.
  if (place.contains(document.activeElement)) focusOn(null)
  place.textContent = text
  place.hidden = text === ''
  place.classList.toggle('back-again', isBack)
}

/** Says that the server is away, and asks until it is back. */
function connectionLost() {
  showConnection('The server cannot be reached. What you have typed stays here.')
  asking ||= setInterval(async () => {
    const answer = await fetch('/healthz', { cache: 'no-store' }).catch(() => null)
    if (!answer?.ok) return
    clearInterval(asking)
    asking = 0
    showShortly('The server is back.', 3_000, true)
    if (lostFilters?.isConnected) htmx.trigger(lostFilters, 'submit')
    lostFilters = null
  }, ASK_AGAIN_MS)
}

/** What is typed is not lost to the log-in page. */
function sessionEnded() {
  // A link that is shown already keeps the focus.
  if (saysSessionEnded()) return
  showConnection('Your session has ended. ')
  const rest = '<a href="/admin/login?ended" target="_blank">Log in in another tab</a>; what you have typed stays here.'
  document.getElementById('connection')?.insertAdjacentHTML('beforeend', rest)
}

function saysSessionEnded() {
  return document.querySelector('#connection a') !== null
}

async function refused(text, status) {
  const { detail } = await Promise.resolve(text)
    .then(JSON.parse)
    .catch(() => ({}))
  const reason = status < 300 ? 'Something other than the store has answered.' : `The server answered ${status}.`
  showShortly(typeof detail === 'string' ? `${detail}.` : reason)
}

function showShortly(text, forMs = 8_000, isBack = false) {
  showConnection(text, isBack)
  hiding = setTimeout(() => (asking ? connectionLost() : showConnection('')), forMs)
}

document.addEventListener('htmx:sendError', ({ target }) => {
  if (target.matches('[data-filters]')) lostFilters = target
  connectionLost()
})
document.addEventListener('htmx:beforeOnLoad', event => {
  if (event.detail.xhr.status !== 401) return
  // This leads to the log-in page, unless something else is being typed or deleted.
  const isUnderWay = document.querySelector('.editing') || pending.size > 0
  if (event.target.matches('[data-filters]') && !isUnderWay) return
  event.preventDefault()
  sessionEnded()
})
document.addEventListener('htmx:sseOpen', () => {
  if (saysSessionEnded()) showConnection('')
})
document.addEventListener('htmx:sseError', async ({ detail }) => {
  if (!repeatsId) detail.source.close()
  // It is tried again and again: the link to the log-in keeps the focus, and nobody is told twice.
  if (saysSessionEnded()) return
  // A stream does not tell why it was refused.
  const answer = await fetch('/admin/activity', { method: 'HEAD' }).catch(() => null)
  if (answer?.status === 401) sessionEnded()
  else if (!answer?.ok) connectionLost()
})
document.addEventListener('htmx:responseError', ({ detail: { xhr, requestConfig } }) => {
  const { elt, verb } = requestConfig
  // An edited row whose product was deleted has nothing to go back to. A proxy that knows of no server says 404, too.
  const row = elt.closest('#rows > tr')
  if (row && verb === 'get' && xhr.status === 404 && xhr.responseText.includes('There is no such')) removeRow(row)
  const wait = xhr.status === 503 ? Number.parseFloat(xhr.getResponseHeader('Retry-After')) * 1_000 : 0
  if (wait > 0 && elt.id === 'facets') setTimeout(() => htmx.trigger(elt, 'again'), wait)
  else if (wait > 0 && elt.matches('[data-filters]')) {
    showShortly('One moment: the list is being prepared.', wait)
    setTimeout(() => htmx.trigger(elt, 'submit'), wait)
  } else if (xhr.status !== 401) refused(xhr.responseText, xhr.status)
})

// Forms and lists

// With these keys, a link opens another tab or window, which htmx prevents.
document.addEventListener(
  'click',
  event => {
    if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest('a')) event.stopPropagation()
  },
  true,
)

/** Shows an address without the fields that are empty, and without what was told once: a reload does not tell it again. */
function showAddress(href, state) {
  const address = new URL(href)
  const shown = [...address.searchParams].filter(([name, value]) => value !== '' && !['deleted', 'kept'].includes(name))
  address.search = new URLSearchParams(shown)
  history.replaceState(state, '', address)
}
showAddress(location.href, history.state)

/** Whether the page has something that was not saved. */
function isTyped() {
  // The fields of a refused form hold the refused text as their default, as if it were saved.
  if (document.querySelector('.editing, .conflict, #content > .trouble')) return true
  const fields = [...document.querySelectorAll('#form :is(input, textarea):not([type="hidden"])')]
  return fields.some(field => field.value !== field.defaultValue || field.checked !== field.defaultChecked)
}

/**
 * A browser that comes back to a page fills its form with what was typed before, but not its hidden field. With the tag of the
 * newest version, an old text would replace that unasked.
 */
function keepTag() {
  const tag = document.querySelector('#form [name="tag"]')
  if (!tag) return
  // htmx reads an answer as without scripts, and with this field, the browser would bring back no text.
  document.querySelector('#form noscript')?.remove()
  if (history.state?.tag && isTyped()) tag.value = history.state.tag
  history.replaceState({ tag: tag.value }, '')
}

/** Puts what was typed or chosen while a form was being sent into the form that has come back. */
function keepTyped(form, sent) {
  const textOf = ({ type, checked, value }) => (type === 'checkbox' && !checked ? undefined : value)
  const later = [...form.elements].filter(
    field => field.matches(':not([type="hidden"])[name]') && textOf(field) !== sent[field.name],
  )
  for (const { name, value, checked } of later) {
    const field = document.querySelector(`#form [name="${name}"]`)
    if (field) Object.assign(field, { value, checked })
  }
  return later.length > 0
}

/** Holds the rows that are being edited, and that the list does not show now. Each may still be saved, or refused. */
const away = document.createElement('table')
away.hidden = true
document.body.append(away)
let focusBefore = null

/** Takes the rows that are being edited out of a list that is about to be replaced. */
function takeEdited(list) {
  focusBefore = document.activeElement
  away.append(...list.querySelectorAll('.editing'))
}

function bringBackEdited() {
  for (const row of [...away.rows]) {
    // Otherwise, it would take the focus.
    row.querySelector('[autofocus]')?.removeAttribute('autofocus')
    const shown = document.querySelector(`#rows > #${row.id}`)
    // It was saved meanwhile.
    if (!row.matches('.editing')) row.remove()
    else shown?.replaceWith(row)
    if (row.contains(focusBefore)) focusBefore.focus()
  }
}

document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  // The answer has the form again, with the reason. The error page of a proxy has not.
  const hasForm = detail.xhr.responseText.includes('name="tag"')
  if (detail.requestConfig?.verb === 'post' && hasForm) Object.assign(detail, { shouldSwap: true, isError: false })
  // The log-in page of a proxy would take the place of what is shown or typed, whatever its status.
  const { id } = detail.target
  const sign = id.startsWith('products-') ? id : 'told'
  const isOurs = id === 'facets' || detail.xhr.responseText.includes(`id="${sign}"`)
  if (!isOurs) Object.assign(detail, { shouldSwap: false, isError: true })
  if (detail.shouldSwap && id === 'results') takeEdited(detail.target)
})

document.addEventListener('htmx:afterSwap', ({ detail: { target, xhr, requestConfig } }) => {
  // An event of a stream has no request.
  if (!requestConfig) return
  const { elt } = requestConfig
  // The page also asks by itself, for counts for example. Such an answer does not take back an earlier message.
  if (!asking && xhr.status === 200 && requestConfig.triggeringEvent?.isTrusted) showConnection('')
  if (target.id === 'content') {
    showAddress(xhr.responseURL, null)
    keepTag()
    if (!keepTyped(elt, requestConfig.parameters)) document.getElementById('content')?.focus({ preventScroll: true })
    // htmx drops a further request of the old form, which has gone. It knows the new one only after this event.
    else if (elt.dataset.again && xhr.status === 200) setTimeout(() => document.getElementById('form').requestSubmit())
  }
  if (elt.matches('.editing form') && xhr.status === 200) tell('Saved.')
  if (elt.matches('[data-filters]')) {
    showAddress(xhr.responseURL, null)
    tell(document.querySelector('[data-tell]')?.textContent ?? '')
  }
  if (elt.matches('[data-more]')) {
    const first = elt.dataset.first && document.getElementById(elt.dataset.first)?.nextElementSibling
    first?.querySelector('.name')?.focus()
  }
  bringBackEdited()
  for (const [item, deletion] of pending) {
    const element = document.querySelector(`main [data-item="${CSS.escape(item)}"]`)
    if (element === deletion.element || (!element && deletion.element.isConnected)) continue
    if (deletion.element.matches('#pending > *')) deletion.element.remove()
    mark(element ?? noteOf(deletion.element), deletion)
  }
  countSelected()
})

// Notes that a form is sent again while it is being saved.
document.addEventListener(
  'submit',
  ({ target }) => {
    if (target.matches('#form.htmx-request')) target.dataset.again = 'yes'
  },
  true,
)
document.addEventListener('htmx:beforeRequest', ({ detail: { elt } }) => {
  delete elt.dataset.again
  if (elt.matches('[data-more]')) elt.dataset.first = document.querySelector('#rows > tr:last-child')?.id ?? ''
})

function countSelected() {
  const count = document.querySelectorAll('input[name="item"]:checked').length
  const selected = document.getElementById('selected')
  if (!selected) return
  selected.textContent = `${count} selected`
  selected.parentElement.classList.toggle('some', count > 0)
}

document.addEventListener('change', ({ target }) => {
  if (target.name === 'item') countSelected()
})

// Deletions: nothing is sent before the time for "Undo" is over.

/** By item: its element, and when it is due. */
const pending = new Map()

/** Returns whether it could; otherwise, the page says why. */
function deleteLater(element) {
  const { item, name } = element.dataset
  if (pending.has(item)) return true
  if (pending.size >= WAITING_MAX) {
    showShortly(`Only ${WAITING_MAX} deletions can wait at once. Delete the rest after these.`)
    return false
  }
  const deletion = { dueAt: Date.now() + DELETION_WAIT_MS }
  pending.set(item, deletion)
  mark(element, deletion)
  tell(`${name} will be deleted in ${DELETION_WAIT_MS / 1_000} seconds.`)
  return true
}

/** Stands for something that the page does not show any more, so that its deletion can still be undone. */
function noteOf({ dataset }) {
  const note = document.createElement('div')
  Object.assign(note.dataset, { item: dataset.item, name: dataset.name })
  note.innerHTML = '<p dir="auto"></p><div class="actions"></div>'
  note.querySelector('p').textContent = dataset.name
  document.getElementById('pending').append(note)
  return note
}

/** Shows that this is about to be deleted, with the button that prevents it. */
function mark(element, deletion) {
  const undo = document.createElement('div')
  undo.className = 'undo'
  undo.innerHTML = '<span></span><button type="button" class="plain">Undo</button>'
  const [left, button] = undo.children
  button.ariaLabel = `Undo the deletion of ${element.dataset.name}`
  button.addEventListener('click', ({ detail }) => {
    // It may stand where "Delete" was, so the second click of a double click does not count.
    if (detail < 2) restore(element.dataset.item, '')
  })
  element.querySelector('.failed')?.remove()
  element.querySelector('.actions').append(undo)
  element.classList.add('leaving')
  const box = element.querySelector('input[name="item"]')
  if (box) box.checked = false
  countSelected()
  Object.assign(deletion, { element, left, button })
  showLeft(deletion)
}

function showLeft({ element, left, button, dueAt }) {
  if (dueAt < Number.POSITIVE_INFINITY) {
    left.textContent = `${Math.max(0, Math.ceil((dueAt - Date.now()) / 1_000))} s`
    return
  }
  // The server may have deleted it already.
  left.textContent = 'Deleting'
  if (button === document.activeElement) focusOn(element.querySelector('.name'))
  button.remove()
}

/** The item stays. */
function restore(item, reason) {
  const { element } = pending.get(item) ?? {}
  pending.delete(item)
  if (!element) return
  const hadFocus = element.contains(document.activeElement)
  element.querySelector('.undo')?.remove()
  element.classList.remove('leaving')
  if (reason !== '') {
    const failed = document.createElement('p')
    failed.className = 'failed'
    failed.textContent = reason
    element.querySelector('.actions').append(failed)
  }
  tell(reason || `${element.dataset.name} stays.`)
  if (element.matches('#pending > *')) {
    element.remove()
    if (reason !== '') showConnection(`${element.dataset.name}: ${reason}`)
  }
  if (hadFocus) focusOn(element.querySelector('[data-delete]'))
}

/** Resolves to `null` if the server cannot be reached. */
function post(items, options) {
  const body = new URLSearchParams({ confirmed: 'yes' })
  for (const item of items) body.append('item', item)
  const headers = { Accept: 'application/json' }
  return fetch('/admin/deletions', { method: 'POST', body, headers, ...options }).catch(() => null)
}

/** Resolves to whether all of them are deleted. */
async function send(items) {
  for (const item of items) {
    const deletion = pending.get(item)
    deletion.dueAt = Number.POSITIVE_INFINITY
    showLeft(deletion)
  }
  const answer = await post(items)
  const outcomes = answer?.ok ? await answer.json().catch(() => null) : null
  if (outcomes === null) {
    if (answer === null || answer.ok) connectionLost()
    else if (answer.status === 401) sessionEnded()
    else refused(answer.text(), answer.status)
    for (const item of items) restore(item, 'Not deleted. Try again.')
    return false
  }
  for (const { item, reason } of outcomes) {
    if (reason === null) removed(item)
    else restore(item, `${reason}.`)
  }
  return outcomes.every(({ reason }) => reason === null)
}

function removed(item) {
  const { element } = pending.get(item) ?? {}
  pending.delete(item)
  if (!element?.isConnected) return
  if (element.dataset.list) {
    // Its reviews are deleted with it.
    pending.clear()
    location.assign(`${element.dataset.list}?deleted=1`)
    return
  }
  tell(`${element.dataset.name} is deleted.`)
  removeRow(element)
}

/** Replaces an element of this page by a new version from the server, with the filters and stars beside the list. */
function showAgain(target) {
  // Without the part of the address that names an element: htmx would scroll to that.
  const path = location.pathname + location.search
  htmx.ajax('GET', path, { target, select: target, swap: 'outerHTML', selectOOB: '#chips,#histogram' })
}

/** Shows the list as it is now, and nothing else: a form beside it may have text that was not sent. */
function listAgain() {
  const filters = document.querySelector('[data-filters]')
  if (filters) htmx.trigger(filters, 'submit')
  else if (document.getElementById('results')) showAgain('#results')
}

/** Shows what the server counts now: of the list, and of a product's stars. */
function countAgain() {
  const facets = document.getElementById('facets')
  if (facets) htmx.trigger(facets, 'again')
  if (document.getElementById('total')) showAgain('#total')
}

setInterval(() => {
  const now = Date.now()
  const due = []
  for (const [item, deletion] of pending) {
    if (deletion.dueAt <= now) due.push(item)
    else if (deletion.dueAt < Number.POSITIVE_INFINITY) showLeft(deletion)
  }
  if (due.length > 0) send(due)
}, 250)

addEventListener('beforeunload', event => {
  if (pending.size > 0 || isImporting) event.preventDefault()
})
// When the page goes, the session has ended already.
document.querySelector('[action="/admin/logout"]')?.addEventListener('submit', async event => {
  if (pending.size === 0) return
  event.preventDefault()
  if (!confirm('Delete at once what is under way, and log out?')) return
  if (await send([...pending.keys()])) event.target.submit()
})
addEventListener('pageshow', ({ persisted }) => {
  // A page that the browser kept in memory may show what has been deleted since.
  if (!persisted) keepTag()
  else if (isTyped()) listAgain()
  else location.reload()
})
addEventListener('pagehide', () => {
  if (pending.size === 0) return
  post(pending.keys(), { keepalive: true })
  pending.clear()
  sessionStorage.setItem(SENT_LATE, 'yes')
})
// The page before may have sent its deletions when the server had made this one already.
setTimeout(() => {
  if (sessionStorage.getItem(SENT_LATE) === null) return
  sessionStorage.removeItem(SENT_LATE)
  listAgain()
}, RELOAD_AFTER_MS)

document.addEventListener('click', event => {
  const button = event.target.closest('[data-delete], [data-delete-selected]')
  if (!button) return
  event.preventDefault()
  // The second click of a double click on "Undo" or "Delete selected" does not count, either.
  if (event.detail > 1) return
  if (button.matches('[data-delete]')) {
    const element = button.closest('[data-item]')
    deleteLater(element)
    pending.get(element.dataset.item)?.button.focus()
    return
  }
  const items = []
  for (const box of document.querySelectorAll('input[name="item"]:checked')) {
    const element = box.closest('[data-item]')
    if (!deleteLater(element)) break
    items.push(element)
  }
  if (items.length > 1) tell(`${items.length} will be deleted in ${DELETION_WAIT_MS / 1_000} seconds.`)
  // The bar with the pressed button goes away with the selection.
  pending.get(items[0]?.dataset.item)?.button.focus()
})

// Keys in lists

function focusRow(row) {
  row?.querySelector('.name')?.focus()
}

/** If it is not there, the content gets the focus: from the body, a keyboard begins at the top. */
function focusOn(element) {
  if (element) element.focus()
  else document.getElementById('content').focus({ preventScroll: true })
}

function removeRow(row) {
  if (row.contains(document.activeElement)) {
    focusOn((row.nextElementSibling ?? row.previousElementSibling)?.querySelector('.name'))
  }
  row.remove()
  if (!document.querySelector('#rows > tr') && pending.size === 0) listAgain()
  else countAgain()
}

document.addEventListener('keydown', event => {
  const { target, key, keyCode, repeat, ctrlKey, metaKey, altKey, isComposing } = event
  const isInputMethod = isComposing || keyCode === INPUT_METHOD_KEY
  // If it is held down on "Delete" or "Edit", it would press "Undo" or "Save" next, which has the focus then.
  if (key === 'Enter' && repeat && !target.matches('textarea')) event.preventDefault()
  if (key === 'Escape' && !isInputMethod) target.closest('.editing')?.querySelector('[data-cancel]')?.click()
  const row = target.closest('#rows > tr[data-item]')
  if (!row || ctrlKey || metaKey || altKey || target.matches('input:not([type="checkbox"])')) return
  const act = {
    j: () => focusRow(row.nextElementSibling),
    ArrowDown: () => focusRow(row.nextElementSibling),
    k: () => focusRow(row.previousElementSibling),
    ArrowUp: () => focusRow(row.previousElementSibling),
    // A row that is about to be deleted can be neither selected nor edited.
    x: () => row.querySelector(':scope:not(.leaving) input[name="item"]')?.click(),
    e: () => row.querySelector(':scope:not(.leaving) [data-edit]')?.click(),
    d: () => {
      // A key that is held down would go through the whole list.
      if (repeat) return
      deleteLater(row)
      focusRow(row.nextElementSibling ?? row.previousElementSibling)
    },
    u: () => {
      const [last, deletion] = [...pending].findLast(([, { dueAt }]) => dueAt < Number.POSITIVE_INFINITY) ?? []
      if (!deletion) return
      const { element } = deletion
      restore(last, '')
      focusRow(element)
    },
  }
  act.Delete = act.d
  // Caps Lock changes letters.
  const run = act[key] ?? act[key.toLowerCase()]
  if (!run) return
  event.preventDefault()
  run()
})

// Import

let isImporting = false
const importForm = document.getElementById('import')

if (importForm) {
  const { list, file: field } = importForm.elements
  const drop = importForm.querySelector('.drop')
  const bar = importForm.querySelector('progress')
  const cancel = importForm.querySelector('#progress button')
  const step = document.getElementById('step')
  const outcome = document.getElementById('outcome')
  const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 })
  const lines = new Intl.NumberFormat('en')

  const guess = () => {
    const [name] = /^(categories|products|users|reviews)/i.exec(field.files[0]?.name ?? '') ?? []
    if (name && [...list.options].some(({ value }) => value === name.toLowerCase())) list.value = name.toLowerCase()
  }
  const show = (share, text) => {
    bar.value = share
    step.textContent = text
  }
  const end = html => {
    // It goes away.
    if (cancel === document.activeElement) importForm.querySelector('[type=submit]').focus()
    isImporting = false
    importForm.removeAttribute('aria-busy')
    document.getElementById('progress').hidden = true
    if (html !== null) outcome.innerHTML = html
  }

  field.addEventListener('change', guess)
  for (const type of ['dragenter', 'dragover', 'dragleave', 'drop']) {
    drop.addEventListener(type, event => {
      event.preventDefault()
      drop.classList.toggle('over', type === 'dragenter' || type === 'dragover')
      if (type !== 'drop' || event.dataTransfer.files.length === 0) return
      if (event.dataTransfer.files.length > 1) {
        outcome.textContent = 'Drop one file at a time.'
        return
      }
      field.files = event.dataTransfer.files
      guess()
    })
  }
  // Beside the place for it, the browser would open the file.
  for (const type of ['dragover', 'drop']) addEventListener(type, event => event.preventDefault())
  importForm.addEventListener('submit', event => {
    event.preventDefault()
    if (isImporting) return
    const [file] = field.files
    const format = /\.csv$/i.test(file.name) ? 'csv' : 'ndjson'
    const request = new XMLHttpRequest()
    const isTold = () => request.getResponseHeader('Content-Type')?.startsWith('application/x-ndjson')
    /** What the server has told so far, in whole lines. */
    const told = () =>
      request.responseText
        .split('\n')
        .slice(0, -1)
        .map(line => JSON.parse(line))
    isImporting = true
    importForm.setAttribute('aria-busy', 'true')
    document.getElementById('progress').hidden = false
    outcome.textContent = ''
    show(0, 'Checking the lines')
    request.upload.addEventListener('progress', ({ loaded, total }) => {
      show(
        loaded / total,
        loaded < total ? `Checking the lines: ${percent.format(loaded / total)}` : 'Checking the last lines',
      )
    })
    request.addEventListener('progress', () => {
      if (!isTold()) return
      const { stored, of } = told().findLast(({ of }) => of) ?? {}
      if (of) show(stored / of, `${lines.format(stored)} of ${lines.format(of)} lines`)
    })
    request.addEventListener('load', () => {
      const isWhole = isTold() && request.responseText.endsWith('\n')
      end(isWhole ? (told().at(-1).html ?? null) : null)
      if (request.status === 401) sessionEnded()
      else if (!isWhole) refused(request.responseText, request.status)
    })
    request.addEventListener('error', async () => {
      end(null)
      const start = file.slice(0, 1).arrayBuffer()
      if ((await start.catch(() => null)) === null) {
        outcome.textContent =
          'The file cannot be read: it is a folder, or was changed since you chose it. Choose it again.'
        return
      }
      outcome.textContent = 'The connection was lost. Nothing was imported, unless the last lines were being stored.'
      connectionLost()
    })
    request.addEventListener('abort', () => {
      end(null)
      outcome.textContent = 'Cancelled. Nothing was imported, unless the last lines were being stored.'
    })
    cancel.onclick = () => request.abort()
    request.open('POST', `/admin/import?${new URLSearchParams({ list: list.value, format })}`)
    request.setRequestHeader('Content-Type', 'application/octet-stream')
    request.send(file)
  })
}

// Activity

const CHANGES_SHOWN_MAX = 500

/** Firefox ignores an id that comes without an event. If its source is closed after an error, htmx opens a new one. */
let repeatsId = true

// A new source does not know where the one before was.
htmx.createEventSource = url => {
  const since = document.querySelector('#changes > li')?.dataset.event
  return new EventSource(since ? `${url.split('?')[0]}?${new URLSearchParams({ since })}` : url)
}

document.addEventListener('htmx:sseMessage', ({ detail }) => {
  repeatsId = detail.lastEventId !== ''
  for (const time of document.querySelectorAll('#changes time:not([title])')) {
    const at = new Date(time.dateTime)
    time.title = at.toLocaleString()
    time.textContent = at.toLocaleTimeString()
  }
  for (const old of [...document.querySelectorAll('#changes > li')].slice(CHANGES_SHOWN_MAX)) old.remove()
})

// The start page

for (const button of document.querySelectorAll('[data-copy]')) {
  button.hidden = !navigator.clipboard
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy)
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
}
