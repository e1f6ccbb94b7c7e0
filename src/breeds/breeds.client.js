// Adds to htmx: closes the stream at the end of the list, resumes after a lost connection, keeps the names that were
// shown, and sets `data-state` of the body to listing, interrupted, done or failed.

/** After this much silence, the connection is dead, for example because the machine has slept. Browsers do not notice that. */
const SILENCE_MS = 30_000

const listener = document.getElementById('listener')
const shown = document.getElementById('shown')
const count = document.getElementById('count')
const announcement = document.getElementById('announcement')

let source
let silence
// It doubles with each connection that brings nothing, because a proxy may hold back all events to the end of the list.
let silenceMaxMs = SILENCE_MS
// The number of names in the Last-Event-ID that the browser sends when it reconnects by itself.
let resumesAfter = 0

// A connection that htmx makes starts after the names that the page already shows.
htmx.createEventSource = url => {
  source = new EventSource(`${url}?after=${shown.children.length}`)
  resumesAfter = 0
  waitForMore()
  return source
}

document.addEventListener('htmx:sseOpen', () => {
  delete document.body.dataset.state
})

document.addEventListener('htmx:sseError', () => {
  waitForMore()
  become('interrupted', document.querySelector('.interrupted').textContent)
  // Firefox ignores an id that comes without an event. If the source is closed here, htmx opens a new one.
  if (resumesAfter !== shown.children.length) source.close()
})

document.addEventListener('htmx:sseMessage', ({ detail }) => {
  silenceMaxMs = SILENCE_MS
  waitForMore()
  resumesAfter = Number(detail.lastEventId)
  const text = new DOMParser().parseFromString(detail.data, 'text/html').body.textContent
  if (detail.type === 'DogBreed') add(text)
  if (detail.type === 'DogBreedNoMass') become(stateOf(text), text)
})

function waitForMore() {
  clearTimeout(silence)
  silence = setTimeout(giveUp, silenceMaxMs)
}

/** htmx opens a new source. */
function giveUp() {
  if (source.readyState === EventSource.CLOSED) return
  silenceMaxMs *= 2
  source.close()
  source.dispatchEvent(new Event('error'))
}

function add(name) {
  const item = document.createElement('li')
  item.textContent = name
  shown.append(item)
  count.textContent = shown.children.length
}

function stateOf(status) {
  if (status === listener.dataset.more) return 'listing'
  return status === listener.dataset.noMore ? 'done' : 'failed'
}

function become(state, text) {
  document.body.dataset.state = state
  if (announcement.textContent !== text) announcement.textContent = text
  // Otherwise the browser reconnects when the stream ends, and the list starts over.
  if (state === 'done' || state === 'failed') source.close()
}
