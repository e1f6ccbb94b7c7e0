/** How HTML breaks its lines. With the entity it is one line, as an event stream's data must be. */
export type LineBreak = '\n' | '&#10;'

const SPECIAL = /[&<>"]/
const EACH_SPECIAL = /[&<>"]/g
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text as HTML shows it, between tags or in an attribute's double quotes. */
export function escapeHtml(text: string): string {
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, character => ENTITIES[character] ?? character) : text
}
