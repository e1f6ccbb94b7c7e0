import { setImmediate } from 'node:timers/promises'
import type { GrammarState, Highlighter, Run, Tokenizer } from '../highlighting/highlighter.ts'
import { escapeHtml, type LineBreak } from './html.ts'

/** An unfinished line is tokenized again with each piece, so a longer one is shown plain until it ends. */
const OPEN_LINE_MAX_CHARACTERS = 100

/** The languages that answers use most: compiling the first one takes some 0.2 s, in which nothing else runs. */
const WARM_UP_LANGUAGES = ['typescript', 'python', 'shellscript']
/** Meets many of their rules, which are compiled when they are first met. */
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

interface CodePainterOptions {
  readonly highlighter: Highlighter<string>
  readonly blockStyle: string
  readonly lineBreak: LineBreak
}

/** Paints code blocks as HTML. */
export class CodePainter {
  readonly #highlighter: Highlighter<string>
  readonly #blockStyle: string
  readonly #lineBreak: LineBreak

  constructor({ highlighter, blockStyle, lineBreak }: CodePainterOptions) {
    this.#highlighter = highlighter
    this.#blockStyle = blockStyle
    this.#lineBreak = lineBreak
  }

  /** HTML of a code block. `label` is the first word behind a fence's marks, which is not trusted. */
  block(label: string, code: string, memory: CodeMemory): string {
    const tokenizer = this.#highlighter.tokenizer(label)
    const name = tokenizer ? ` class="language-${tokenizer.language}"` : ''
    const html = tokenizer ? this.#highlighted(tokenizer, code, memory) : this.#plain(code)
    return `<pre class="code" style="${this.#blockStyle}"><code${name}>${html}</code></pre>${this.#lineBreak}`
  }

  /** Compiles the languages that answers use most, and lets other work run after each. */
  async warmUp(): Promise<void> {
    for (const language of WARM_UP_LANGUAGES) {
      this.block(language, WARM_UP_CODE, new CodeMemory())
      await setImmediate()
    }
  }

  #plain(code: string): string {
    const html = escapeHtml(code)
    return this.#lineBreak === '\n' ? html : html.replaceAll('\n', this.#lineBreak)
  }

  #highlighted(tokenizer: Tokenizer<string>, code: string, memory: CodeMemory): string {
    const known = memory.next()
    const isSame = known?.tokenizer === tokenizer && code.startsWith(known.code)
    let { html, state } = isSame ? known : { html: '', state: null }
    let start = isSame ? known.code.length : 0
    for (let end = code.indexOf('\n', start); end >= 0; end = code.indexOf('\n', start)) {
      const line = tokenizer.line(code.slice(start, end), state)
      html += paint(line.runs) + this.#lineBreak
      state = line.state
      start = end + 1
    }
    memory.keep({ tokenizer, code: code.slice(0, start), html, state })
    const open = code.slice(start)
    return html + (open.length > OPEN_LINE_MAX_CHARACTERS ? escapeHtml(open) : paint(tokenizer.line(open, state).runs))
  }
}

/** The complete lines of a code block, painted. */
interface PaintedLines {
  readonly tokenizer: Tokenizer<string>
  readonly code: string
  readonly html: string
  /** The grammar's state after them. */
  readonly state: GrammarState
}

/**
 * The code blocks of a text as they were last painted, in their order. While the text grows, only the lines that have
 * come since are tokenized.
 */
export class CodeMemory {
  readonly #blocks: PaintedLines[] = []
  #next = 0

  /** The text is about to be painted again, from its beginning. */
  rewind(): void {
    this.#next = 0
  }

  /** What was painted at this place the last time; `keep` must follow. */
  next(): PaintedLines | undefined {
    return this.#blocks[this.#next]
  }

  keep(lines: PaintedLines): void {
    this.#blocks[this.#next] = lines
    this.#next += 1
  }
}

/** Neighbors of one style share an element. */
function paint(runs: readonly Run<string>[]): string {
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
