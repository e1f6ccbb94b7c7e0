// Adds to htmx: scrolls with a growing answer, sends on Enter, stops an answer, copies code, and shows what the reader is
// waiting for. Keeps what was typed if the user goes to another page of the chat, or has to log in again.

const SWAP_PAUSE_MS = 40
const NEAR_END_PX = 96
const STATUS_FIRST_MS = 1_500
const STATUS_EVERY_MS = 3_000
/** After this much silence, the connection may be dead, for example because the machine has slept. Browsers do not notice that. */
const SILENCE_MS = 30_000
const REQUEST_MAX_MS = 10_000
const COPIED_MS = 1_500
/** The code of every key that an input method takes. Safari tells of Enter when the composition has ended. */
const INPUT_METHOD_KEY = 229
/** The key that a text is stored under until the next page of the chat has it. */
const DRAFT = 'draft'
const FAILED = 'That did not work. Your message is still here: try again.'
const TOO_LONG = 'Your message is too long. It is still here: shorten it.'
const LOST = 'The connection is lost. Trying again …'

const conversation = document.getElementById('conversation')
const trouble = document.getElementById('trouble')

let sessionHasEnded = false

/** The prompt that was sent last. */
let sent = ''
let isFollowing = true
/** When the answer began, or its newest event came. */
let heardAt = 0

/** The newest `Response`, if it is held back because the previous one was drawn a moment ago. */
let held = null
let showHeldAt = null
let shownAt = 0

restoreDraft()
showLocalTimes()
listener() ? answerBegins() : answersAreWhole()

document.addEventListener('keydown', event => {
  if (event.target.id !== 'user_prompt' || event.key !== 'Enter' || event.shiftKey) return
  if (event.isComposing || event.keyCode === INPUT_METHOD_KEY) return
  event.preventDefault()
  event.target.form.requestSubmit()
})

// Runs before htmx and the browser do: allows one answer at a time, and leaves the text in the form.
document.addEventListener(
  'submit',
  event => {
    if (event.target.id === 'composer' && listener()) refuse(event, 'Wait for this answer, or stop it.')
    if (event.target.className === 'stop') stop(event)
    // The next user must not see the draft.
    if (event.target.className === 'logout') document.getElementById('user_prompt').value = ''
  },
  true,
)

// Each `Response` is the whole answer, so it is enough to draw the last one of each moment. If each were drawn, a long answer
// from a fast model would be drawn long after it arrived.
document.addEventListener('htmx:sseBeforeMessage', event => {
  const { type, data } = event.detail
  heardAt = performance.now()
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

// The response to a prompt that is refused for now is a page with the reason and the text. A page of a proxy has neither.
document.addEventListener('htmx:beforeSwap', ({ detail }) => {
  if (!detail.serverResponse.includes('id="composer"')) Object.assign(detail, { shouldSwap: false, isError: true })
  else if ([429, 503].includes(detail.xhr.status)) Object.assign(detail, { shouldSwap: true, isError: false })
})

// Until the response is there, the field keeps the prompt, and users may continue to type.
document.addEventListener('htmx:configRequest', () => {
  sent = document.getElementById('user_prompt').value
})
document.addEventListener('htmx:oobBeforeSwap', ({ target, detail }) => {
  if (target.id !== 'composer') return
  const typed = document.getElementById('user_prompt').value
  const field = detail.fragment.querySelector('#user_prompt')
  if (typed !== sent) field.value = field.value === '' && typed.startsWith(sent) ? typed.slice(sent.length) : typed
})

// The previous turn keeps its text, but gives up its id to the new answer.
document.addEventListener('htmx:beforeSwap', event => {
  if (event.detail.target === conversation && event.detail.xhr.status === 200) {
    document.getElementById('Response')?.removeAttribute('id')
  }
})

// Only the end of the answer is replaced, so the rest keeps the focus, the selected text, and how far its code is scrolled.
document.addEventListener('htmx:oobBeforeSwap', ({ target, detail }) => {
  if (target.id !== 'Response') return
  detail.shouldSwap = false
  update(target, detail.fragment.firstElementChild)
  answerGrows()
})

document.addEventListener('htmx:oobAfterSwap', ({ target }) => {
  if (target.id === 'composer') showLocalTimes()
  if (target.id === 'chat') listener() ? answerBegins() : answerEnds()
})

document.addEventListener('htmx:afterSwap', ({ target }) => {
  if (target !== conversation) return
  // A reload then shows this turn.
  history.replaceState(null, '', conversation.lastElementChild.dataset.path)
  isFollowing = true
  follow()
})

document.addEventListener('htmx:sseOpen', () => {
  sessionHasEnded = false
  say('')
})
document.addEventListener('htmx:sseError', connectionFails)
document.addEventListener('htmx:sendError', () => say('The server cannot be reached. Your message is still here.'))
document.addEventListener('htmx:responseError', ({ detail }) => {
  say(detail.xhr.status === 413 ? TOO_LONG : FAILED)
})

addEventListener('pagehide', () => sessionStorage.setItem(DRAFT, document.getElementById('user_prompt').value))
addEventListener('scroll', () => {
  isFollowing = scrollY + innerHeight >= document.documentElement.scrollHeight - NEAR_END_PX
})

/** The element that listens for an answer; `null` if no answer is in progress. */
function listener() {
  return document.querySelector('#chat[sse-connect]')
}

function answerBegins() {
  heardAt = performance.now()
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

/** Gives an element the content of another one, and leaves alone the nodes with which both begin. */
function update(shown, newest) {
  const old = [...shown.childNodes]
  const nodes = [...newest.childNodes]
  let same = 0
  while (same < nodes.length && nodes[same].isEqualNode(old[same] ?? null)) same += 1
  if (old[same]?.cloneNode().isEqualNode(nodes[same]?.cloneNode() ?? null)) {
    update(old[same], nodes[same])
    same += 1
  }
  for (const node of old.slice(same)) node.remove()
  shown.append(...nodes.slice(same))
}

function answerGrows() {
  shownAt = performance.now()
  const waiting = document.getElementById('waiting')
  if (waiting) waiting.textContent = 'Answering'
  // Chromium does not look at the direction again when the text is replaced.
  const bubble = document.getElementById('Response').parentElement
  bubble.dir = ''
  bubble.dir = 'auto'
  follow()
}

function answerEnds() {
  say('')
  answersAreWhole()
  follow()
  // The focused button may have been removed.
  if (document.activeElement === document.body) document.getElementById('user_prompt').focus()
}

function answersAreWhole() {
  for (const answer of document.querySelectorAll('.written')) answer.ariaBusy = 'false'
  for (const code of document.querySelectorAll('.written pre')) if (!code.closest('.copyable')) addCopyButton(code)
  for (const table of document.querySelectorAll('.written table')) {
    if (!table.closest('.wide')) letScroll(frame(table, 'wide'), 'Table')
  }
}

/** Shows whether the prompt is queued until the first piece arrives, and connects again if the end of the answer has not arrived. */
async function askForStatus(asked) {
  if (listener() !== asked) return
  const isSilent = performance.now() - heardAt > SILENCE_MS
  if (isSilent || isStillEmpty()) {
    const { status } = await statusOf(asked)
    if (listener() !== asked) return
    if (status === 'ended' && isSilent) return connectAgain()
    if (isStillEmpty()) {
      const text = status === 'waiting' ? 'Many people are asking: waiting in line' : 'Waiting for the answer'
      document.getElementById('waiting').textContent = text
    }
  }
  setTimeout(askForStatus, STATUS_EVERY_MS, asked)
}

function isStillEmpty() {
  return document.querySelector('#Response:empty') !== null
}

/** If the server responds but does not begin the answer, a bound is reached or too many answers are queued. */
async function connectionFails() {
  if (!sessionHasEnded) say(LOST)
  const asked = listener()
  const { status, boundUntil } = asked ? await statusOf(asked) : {}
  if (status !== 'new' || trouble.textContent !== LOST) return
  if (boundUntil) say(`The daily limit is reached. You can ask again at ${localTime(boundUntil)}.`)
  else say('Too many answers are under way. Trying again …')
}

async function statusOf(asked) {
  const response = await fetched(asked.querySelector('.stop').action.replace(/stop$/, 'status'))
  if (response?.status === 401) sessionEnds()
  if (await saysForgotten(response)) answerIsForgotten(asked)
  return response?.ok ? response.json().catch(() => ({})) : {}
}

/** The response, or `null` if there is none in time: a request over a dead connection would never end. */
function fetched(address, options) {
  return fetch(address, { ...options, signal: AbortSignal.timeout(REQUEST_MAX_MS) }).catch(() => null)
}

async function stop(event) {
  event.preventDefault()
  const button = event.target.querySelector('button')
  button.disabled = true
  const response = await fetched(event.target.action, { method: 'POST' })
  if (response?.ok) {
    if (trouble.textContent !== '') connectAgain()
    return
  }
  button.disabled = false
  if (response?.status === 401) sessionEnds()
  else if (await saysForgotten(response)) answerIsForgotten(listener())
  else say('The answer could not be stopped. Try again.')
}

/** Not so the page of a proxy that knows of no server. */
async function saysForgotten(response) {
  if (response?.status !== 404) return false
  const { detail } = await response.json().catch(() => ({}))
  return detail === 'Prompt not found'
}

function answerIsForgotten(asked) {
  if (!asked || listener() !== asked) return
  htmx.swap(asked, '<div id="chat"></div>', { swapStyle: 'outerHTML' })
  answerEnds()
  say('The server no longer has this message and its answer. You can send it again.')
}

/** After a refusal, htmx waits for up to a minute before it connects again. A new listener connects at once. */
function connectAgain() {
  const asked = listener()
  if (!asked) return
  htmx.swap(asked, asked.outerHTML, { swapStyle: 'outerHTML' })
  answerBegins()
}

function sessionEnds() {
  sessionHasEnded = true
  // It is shown already.
  if (trouble.querySelector('a')) return
  const link = document.createElement('a')
  link.href = `/login?ended&next=${encodeURIComponent(location.pathname)}`
  link.textContent = 'Log in again'
  say('Your session has ended. ')
  trouble.append(link, '. Your message is kept.')
}

function restoreDraft() {
  const field = document.getElementById('user_prompt')
  try {
    if (field.value === '') field.value = sessionStorage.getItem(DRAFT) ?? ''
    sessionStorage.removeItem(DRAFT)
  } catch {
    // This browser stores nothing for the chat.
  }
}

/** The server writes times in UTC, because it does not know the time zone of the user. */
function showLocalTimes() {
  for (const time of document.querySelectorAll('time')) time.textContent = localTime(time.dateTime)
}

function localTime(time) {
  return new Date(time).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
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

/** Wraps an element in a new one with this class. */
function frame(element, className) {
  const around = document.createElement('div')
  around.className = className
  element.before(around)
  if (around.moveBefore) around.moveBefore(element, null)
  else around.append(element)
  return around
}

/** Lets users scroll a wide element with the arrow keys. Because it can have the focus, it needs a name. */
function letScroll(element, name) {
  element.tabIndex = 0
  element.role = 'group'
  element.ariaLabel = name
}

/** Browsers offer the clipboard on secure origins only; elsewhere, this copies the selection. */
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
