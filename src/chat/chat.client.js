// What the chat page does beside what htmx does: it follows a growing answer down the page, sends on Enter, stops an
// answer, copies code, and says what the reader waits for.

const SWAP_PAUSE_MS = 40
const NEAR_END_PX = 96
const STATUS_FIRST_MS = 1_500
const STATUS_EVERY_MS = 3_000
const COPIED_MS = 1_500
const LOST = 'The connection is lost. Trying again …'

const conversation = document.getElementById('conversation')
const trouble = document.getElementById('trouble')

let isFollowing = true

/** The newest `Response` that is not shown yet, while the one before it has only just been. */
let held = null
let showHeldAt = null
let shownAt = 0

listener() ? answerBegins() : answersAreWhole()

document.addEventListener('keydown', event => {
  if (event.target.id !== 'user_prompt' || event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  event.target.form.requestSubmit()
})

// Before htmx and the browser: one answer at a time, and what is typed meanwhile stays.
document.addEventListener(
  'submit',
  event => {
    if (event.target.id === 'composer' && listener()) refuse(event, 'Wait for this answer, or stop it.')
    if (event.target.className === 'stop') stop(event)
  },
  true,
)

// Each `Response` is the whole answer: of those that come within a moment the last is shown, or a long answer from a quick
// model would be drawn long after it came.
document.addEventListener('htmx:sseBeforeMessage', event => {
  const { type, data } = event.detail
  const pause = shownAt + SWAP_PAUSE_MS - performance.now()
  if (type === 'Response' && pause > 0) {
    event.preventDefault()
    held = data
    showHeldAt ??= setTimeout(showHeld, pause)
  } else if (type === 'Terminate') {
    showHeld()
  } else {
    held = null
  }
})

// A prompt that is not taken for now comes back as a page that says why, with what was typed.
document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  const isPage = detail.xhr.getResponseHeader('Content-Type')?.startsWith('text/html')
  if (isPage && [429, 503].includes(detail.xhr.status)) Object.assign(detail, { shouldSwap: true, isError: false })
})

// The turn before keeps its text; the names of what the stream replaces go over to the new one.
document.addEventListener('htmx:beforeSwap', event => {
  if (event.detail.target === conversation && event.detail.xhr.status === 200) {
    document.getElementById('Response')?.removeAttribute('id')
  }
})

document.addEventListener('htmx:oobAfterSwap', ({ target }) => {
  if (target.id === 'Response') answerGrows()
  if (target.id === 'chat') listener() ? answerBegins() : answerEnds()
})

document.addEventListener('htmx:afterSwap', ({ target }) => {
  if (target !== conversation) return
  // The address of the turn, so that a reload comes back to it.
  history.replaceState(null, '', conversation.lastElementChild.dataset.path)
  isFollowing = true
  follow()
})

document.addEventListener('htmx:sseOpen', () => say(''))
document.addEventListener('htmx:sseError', connectionFails)
document.addEventListener('htmx:sendError', () => say('The server cannot be reached. Your message is still here.'))
document.addEventListener('htmx:responseError', () => say('That did not work. Your message is still here: try again.'))

addEventListener('scroll', () => {
  isFollowing = scrollY + innerHeight >= document.documentElement.scrollHeight - NEAR_END_PX
})

/** What listens for an answer; null when none is under way. */
function listener() {
  return document.querySelector('#chat[sse-connect]')
}

function answerBegins() {
  say('')
  follow()
  setTimeout(askForStatus, STATUS_FIRST_MS, listener())
}

function showHeld() {
  clearTimeout(showHeldAt)
  showHeldAt = null
  const html = held
  held = null
  if (html !== null && listener()) htmx.swap(listener(), html, { swapStyle: 'none' }, { contextElement: listener() })
}

function answerGrows() {
  shownAt = performance.now()
  const waiting = document.getElementById('waiting')
  if (waiting) waiting.textContent = 'Answering'
  follow()
}

function answerEnds() {
  say('')
  answersAreWhole()
  follow()
  // The button that had it may have gone.
  if (document.activeElement === document.body) document.getElementById('user_prompt').focus()
}

function answersAreWhole() {
  for (const answer of document.querySelectorAll('.written')) answer.ariaBusy = 'false'
  for (const code of document.querySelectorAll('.written pre')) if (!code.closest('.copyable')) addCopyButton(code)
  for (const table of document.querySelectorAll('.written table')) {
    if (!table.closest('.wide')) letScroll(frame(table, 'wide'), 'Table')
  }
}

/** While nothing comes, it is said whether the prompt stands in line behind others. */
async function askForStatus(asked) {
  if (listener() !== asked || document.querySelector('#Response:not(:empty)')) return
  const status = await statusOf(asked)
  const waiting = document.getElementById('waiting')
  if (listener() !== asked || document.querySelector('#Response:not(:empty)')) return
  waiting.textContent = status === 'waiting' ? 'Many are asking at once: waiting in line' : 'Waiting for the answer'
  setTimeout(askForStatus, STATUS_EVERY_MS, asked)
}

/** A server that is there and does not begin the answer has too many of them under way. */
async function connectionFails() {
  say(LOST)
  const asked = listener()
  const status = asked && (await statusOf(asked))
  if (status === 'new' && trouble.textContent === LOST) say('Too many answers are under way. Trying again …')
}

async function statusOf(asked) {
  const { status } = await fetch(asked.querySelector('.stop').action.replace(/stop$/, 'status'))
    .then(response => response.json())
    .catch(() => ({}))
  return status
}

async function stop(event) {
  event.preventDefault()
  const button = event.target.querySelector('button')
  button.disabled = true
  const response = await fetch(event.target.action, { method: 'POST' }).catch(() => null)
  if (response?.ok) return
  button.disabled = false
  say('The answer could not be stopped: try again.')
}

function refuse(event, reason) {
  event.preventDefault()
  event.stopImmediatePropagation()
  say(reason)
}

function addCopyButton(code) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    button.textContent = (await copy(code)) ? 'Copied' : 'Not copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, COPIED_MS)
  })
  frame(code, 'copyable').append(button)
  letScroll(code, 'Code')
}

/** Puts an element into a new one of this class. */
function frame(element, className) {
  const around = document.createElement('div')
  around.className = className
  element.replaceWith(around)
  around.append(element)
  return around
}

/** What may be wider than the page is scrolled with the arrow keys when it has the focus, and so needs a name. */
function letScroll(element, name) {
  element.tabIndex = 0
  element.role = 'group'
  element.ariaLabel = name
}

/** The clipboard is for secure addresses only; elsewhere the selection is copied. */
async function copy(code) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(code.textContent).then(
      () => true,
      () => false,
    )
  }
  getSelection().selectAllChildren(code)
  return document.execCommand('copy')
}

function follow() {
  if (isFollowing) scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' })
}

function say(text) {
  trouble.textContent = text
  follow()
}
