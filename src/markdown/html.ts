/** The line break within the HTML. With the entity, the HTML is one line, as an event stream's data must be. */
export type LineBreak = '\n' | '&#10;'

const SPECIAL = /[&<>"]/
const EACH_SPECIAL = /[&<>"]/g
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes text for HTML, between tags or in a double-quoted attribute. */
export function escapeHtml(text: string): string {
  return SPECIAL.test(text) ? text.replace(EACH_SPECIAL, character => ENTITIES[character] ?? character) : text
}
