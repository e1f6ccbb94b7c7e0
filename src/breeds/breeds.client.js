// What the breeds page does beside what htmx does: it ends when the list ends, goes on where a cut connection broke off,
// and keeps the names that were shown.

const listener = document.getElementById('listener')
const shown = document.getElementById('shown')

// A connection begins after the names that the page has. (A browser that connects again by itself says it too, in
// Last-Event-ID; the newer of the two counts.)
htmx.createEventSource = url => new EventSource(`${url}?after=${shown.children.length}`)

let source

document.addEventListener('htmx:sseOpen', event => {
  source = event.detail.source
})

document.addEventListener('htmx:sseMessage', ({ detail }) => {
  const text = new DOMParser().parseFromString(detail.data, 'text/html').body.textContent
  if (detail.type === 'DogBreed') {
    const item = document.createElement('li')
    item.textContent = text
    shown.append(item)
  }
  // Any other status is the last one. Left open, the browser would connect again and list from the start.
  if (detail.type === 'DogBreedNoMass' && text !== listener.dataset.more) {
    source.close()
    document.body.dataset.state = 'ended'
  }
})
