// HTML in template strings: html`<b>${text}</b>` escapes every value that is not HTML already.

/** The elements of the page that have an id, by it. */
export const elements = Object.fromEntries([...document.querySelectorAll('[id]')].map(element => [element.id, element]))

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

class Html {
  constructor(text) {
    this.text = text
  }

  toString() {
    return this.text
  }
}

export function html(parts, ...values) {
  return new Html(String.raw({ raw: parts }, ...values.map(escaped)))
}

export function element(content) {
  const template = document.createElement('template')
  template.innerHTML = content
  return template.content.firstElementChild
}

function escaped(value) {
  if (value instanceof Html) return value
  if (Array.isArray(value)) return value.map(escaped).join('')
  return String(value ?? '').replace(/[&<>"']/g, character => ENTITIES[character])
}
