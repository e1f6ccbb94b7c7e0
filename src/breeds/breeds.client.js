// What the breeds page does beside what htmx does: it ends when the list ends, goes on where a cut connection broke off,
// keeps the names that were shown, and shows how it stands in `data-state` of the body: listing, interrupted, done, failed.

const listener = document.getElementById('listener')
const shown = document.getElementById('shown')
const count = document.getElementById('count')
const announcement = document.getElementById('announcement')

// A connection that htmx makes begins after the names that the page has.
htmx.createEventSource = url => new EventSource(`${url}?after=${shown.children.length}`)

let source
// After how many names the browser goes on when it connects again by itself: what it then says in Last-Event-ID.
let resumesAfter = 0

document.addEventListener('htmx:sseOpen', event => {
  if (source !== event.detail.source) resumesAfter = 0
  source = event.detail.source
  delete document.body.dataset.state
})

document.addEventListener('htmx:sseError', ({ detail }) => {
  become('interrupted', document.querySelector('.interrupted').textContent)
  // Firefox keeps no id that comes without an event. A source that is closed here, htmx makes anew.
  if (resumesAfter !== shown.children.length) detail.source.close()
})

document.addEventListener('htmx:sseMessage', ({ detail }) => {
  resumesAfter = Number(detail.lastEventId)
  const text = new DOMParser().parseFromString(detail.data, 'text/html').body.textContent
  if (detail.type === 'DogBreed') add(text)
  if (detail.type === 'DogBreedNoMass') become(stateOf(text), text)
})

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
  // Left open, the browser would connect again when the stream ends, and list from the start.
  if (state === 'done' || state === 'failed') source.close()
}
