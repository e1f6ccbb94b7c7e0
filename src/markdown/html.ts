import MarkdownIt from 'markdown-it'

/** The line break within the HTML, so that it is one line, as an event stream's data must be. */
export const LINE_BREAK = '&#10;'

/** Escapes text for HTML, between tags or in a double-quoted attribute. */
export const { escapeHtml } = new MarkdownIt().utils
