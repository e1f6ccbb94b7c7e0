import { setImmediate } from 'node:timers/promises'
import type { GrammarState, Highlighter, Run, Tokenizer } from '../highlighting/highlighter.ts'
import { escapeHtml, LINE_BREAK } from './html.ts'

/** Longer unfinished lines are not highlighted until they end, because each piece would tokenize them again. */
const OPEN_LINE_MAX_CHARACTERS = 100

/** The languages that answers use most. Compiling the first one blocks the process for about 0.2 s. */
const WARM_UP_LANGUAGES = ['typescript', 'python', 'shellscript']
/** Uses many of their grammar rules, because each rule is compiled on first use. */
const WARM_UP_CODE = `/** a */ import { b } from 'c' // d
export async function e<T>(f: string[], g = 1): Promise<T> {
  for (const { h = 0, i } of f.slice(0, g)) if (!/^[a-z]+$/i.test(\`j \${i}\`)) continue
  return h > 1 ? await new K(h, null).l : { m: [true, "n"] }
}
@o class P(Q): """r"""
def s(t: int = 2) -> u: # v
  with w(x) as y: return f"{z:.2f}"
interface A { readonly b?: number }
if [ -f "$C" ]; then d=$(e | f); fi
`

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

/** Renders code blocks as HTML. */
export class CodeRenderer {
  readonly #highlighter: Highlighter<string>
  readonly #blockStyle: string

  constructor(highlighter: Highlighter<string>, blockStyle: string) {
    this.#highlighter = highlighter
    this.#blockStyle = blockStyle
  }

  /**
   * HTML of a code block. `label` is untrusted text: the first word after a fence's marks. `place` is the number of code blocks
   * before it.
   */
  block(label: string, code: string, cache: CodeCache, place: number): string {
    const tokenizer = this.#highlighter.tokenizer(label)
    const name = tokenizer ? ` class="language-${tokenizer.language}"` : ''
    const html = tokenizer
      ? this.#highlighted(tokenizer, code, cache, place)
      : escapeHtml(code).replaceAll('\n', LINE_BREAK)
    return `<pre class="code" style="${this.#blockStyle}"><code${name}>${html}</code></pre>${LINE_BREAK}`
  }

  /** Compiles the languages that answers use most. Other work runs after each one. */
  async warmUp(): Promise<void> {
    for (const language of WARM_UP_LANGUAGES) {
      this.block(language, WARM_UP_CODE, [], 0)
      await setImmediate()
    }
  }

  #highlighted(tokenizer: Tokenizer<string>, code: string, cache: CodeCache, place: number): string {
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
