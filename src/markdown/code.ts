import type { GrammarState, Highlighter, Run, Tokenizer } from '../highlighting/highlighter.ts'
import { escapeHtml, LINE_BREAK } from './html.ts'

/** Longer unfinished lines are not highlighted until they end, because each piece would tokenize them again. */
const OPEN_LINE_MAX_CHARACTERS = 100

/** The complete lines of a code block, highlighted. */
interface HighlightedLines {
  readonly tokenizer: Tokenizer<string>
  readonly code: string
  readonly html: string
  /** The grammar's state after them. */
  readonly state: GrammarState
}

/** The last highlighting of each code block in a text, by its place. As the text grows, only new lines are tokenized. */
export type CodeCache = HighlightedLines[]

/**
 * Makes the HTML of a code block. `label` is untrusted text: the first word after a fence's marks. `place` is the number of code
 * blocks before it.
 */
export type RenderCode = (label: string, code: string, cache: CodeCache, place: number) => string

/** Renders code blocks in that style. */
export function codeRenderer(tokenizerOf: Highlighter<string>, blockStyle: string): RenderCode {
  return (label, code, cache, place) => {
    const tokenizer = tokenizerOf(label)
    const name = tokenizer ? ` class="language-${tokenizer.language}"` : ''
    const html = tokenizer ? highlighted(tokenizer, code, cache, place) : escapeHtml(code).replaceAll('\n', LINE_BREAK)
    return `<pre class="code" style="${blockStyle}"><code${name}>${html}</code></pre>${LINE_BREAK}`
  }
}

function highlighted(tokenizer: Tokenizer<string>, code: string, cache: CodeCache, place: number): string {
  const known = cache[place]
  const isSame = known?.tokenizer === tokenizer && code.startsWith(known.code)
  let { html, state } = isSame ? known : { html: '', state: null }
  let start = isSame ? known.code.length : 0
  for (let end = code.indexOf('\n', start); end >= 0; end = code.indexOf('\n', start)) {
    const line = tokenizer.line(code.slice(start, end), state)
    html += htmlOf(line.runs) + LINE_BREAK
    state = line.state
    start = end + 1
  }
  cache[place] = { tokenizer, code: code.slice(0, start), html, state }
  const open = code.slice(start)
  return html + (open.length > OPEN_LINE_MAX_CHARACTERS ? escapeHtml(open) : htmlOf(tokenizer.line(open, state).runs))
}

/** HTML of a line. Adjacent runs of the same style share an element. */
function htmlOf(runs: readonly Run<string>[]): string {
  let html = ''
  let text = ''
  let style: string | null = null
  for (const run of runs) {
    if (run.style !== style) {
      html += span(text, style)
      text = ''
      style = run.style
    }
    text += run.text
  }
  return html + span(text, style)
}

function span(text: string, style: string | null): string {
  if (text === '') return ''
  const escaped = escapeHtml(text)
  return style === null ? escaped : `<span style="${style}">${escaped}</span>`
}
