import { setImmediate } from 'node:timers/promises'
import { createOnigurumaEngine } from '@shikijs/engine-oniguruma'
import { createShikiPrimitive, type Grammar, type RegexEngine } from '@shikijs/primitive'
import { escapeHtml } from './html.ts'
import { type Language, loadLanguages } from './languages.ts'
import { type PairedTheme, pairThemes } from './theme.ts'

/** A longer line of code is shown plain: tokenizing takes a time that grows with the square of a line's length. */
const LINE_MAX_CHARACTERS = 300
/** A line whose end is still to come is tokenized anew with each piece, so a longer one is shown plain until then. */
const OPEN_LINE_MAX_CHARACTERS = 100

/** What is written most: compiling the first of them takes some 0.2 s, in which nothing else runs. */
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

type GrammarState = Parameters<Grammar['tokenizeLine2']>[1]

/** Highlights code in the known languages; other code is escaped. */
export class Highlighter {
  readonly #engine: RegexEngine
  readonly #languages: ReadonlyMap<string, Language>
  readonly #theme: PairedTheme
  readonly #tokenizers = new Map<Language, Tokenizer>()

  constructor(engine: RegexEngine, languages: ReadonlyMap<string, Language>, theme: PairedTheme) {
    this.#engine = engine
    this.#languages = languages
    this.#theme = theme
  }

  /** The beginning of a code block. `label` is the first word of a fence's info string, which is not trusted. */
  open(label: string): OpenCode {
    const language = this.#languages.get(label.toLowerCase())
    const name = language ? ` class="language-${language.name}"` : ''
    return {
      html: `<pre class="code" style="${this.#theme.blockStyle}"><code${name}>`,
      lines: new CodeLines(language ? this.#tokenizer(language) : null, null),
    }
  }

  /** Compiles the languages that are written most, with a pause after each for what else there is to do. */
  async warmUp(): Promise<void> {
    for (const name of WARM_UP_LANGUAGES) {
      this.open(name).lines.append(WARM_UP_CODE)
      await setImmediate()
    }
  }

  /** A language is compiled when it is first met. */
  #tokenizer(language: Language): Tokenizer {
    const known = this.#tokenizers.get(language)
    if (known) return known
    const tokenizer = new Tokenizer(this.#engine, language, this.#theme)
    this.#tokenizers.set(language, tokenizer)
    return tokenizer
  }
}

/** Loads the regex engine and the grammars, which takes some 50 ms. */
export async function openHighlighter(): Promise<Highlighter> {
  const [engine, languages] = await Promise.all([
    createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
    loadLanguages(),
  ])
  return new Highlighter(engine, languages, pairThemes())
}

interface OpenCode {
  readonly html: string
  readonly lines: CodeLines
}

/** What closes a code block. */
export const CODE_END = '</code></pre>\n'

/** A place between two lines of a code block, with the grammar's state there. Never changes. */
export class CodeLines {
  readonly #tokenizer: Tokenizer | null
  readonly #state: GrammarState

  constructor(tokenizer: Tokenizer | null, state: GrammarState) {
    this.#tokenizer = tokenizer
    this.#state = state
  }

  /** Renders the lines that come here, the last perhaps without its line break; answers the place after them too. */
  append(lines: string): { html: string; after: CodeLines } {
    const tokenizer = this.#tokenizer
    if (!tokenizer) return { html: escapeHtml(lines), after: this }
    let html = ''
    let state = this.#state
    let start = 0
    while (start < lines.length) {
      const lineBreak = lines.indexOf('\n', start)
      const end = lineBreak < 0 ? lines.length : lineBreak
      const limit = lineBreak < 0 ? OPEN_LINE_MAX_CHARACTERS : LINE_MAX_CHARACTERS
      const line = tokenizer.line(lines.slice(start, end), state, limit)
      html += line.html
      if (lineBreak >= 0) html += '\n'
      state = line.state
      start = end + 1
    }
    return { html, after: new CodeLines(tokenizer, state) }
  }
}

/** One language's grammar, compiled. It has a registry of its own, so that no other language changes how it renders. */
class Tokenizer {
  readonly #grammar: Grammar
  /** By the number of the foreground colour in a token's metadata. */
  readonly #styles: readonly string[]

  constructor(engine: RegexEngine, language: Language, theme: PairedTheme) {
    const shiki = createShikiPrimitive({
      engine,
      langs: [...language.registrations],
      themes: [theme.registration],
      warnings: false,
    })
    this.#styles = shiki.setTheme(theme.registration).colorMap.map(color => theme.styleOf(color ?? ''))
    this.#grammar = shiki.getLanguage(language.name)
  }

  line(text: string, state: GrammarState, limit: number): { html: string; state: GrammarState } {
    if (text === '' || text.length > limit) return { html: escapeHtml(text), state }
    const { tokens, ruleStack } = this.#grammar.tokenizeLine2(text, state)
    let html = ''
    let style = ''
    let start = 0
    for (let index = 0; index < tokens.length; index += 2) {
      const from = tokens[index] ?? 0
      const next = this.#styleOf(tokens[index + 1] ?? 0)
      if (next === style) continue
      html += span(text.slice(start, from), style)
      style = next
      start = from
    }
    return { html: html + span(text.slice(start), style), state: ruleStack }
  }

  /** The foreground's number is in bits 15 to 23 of a token's metadata, as vscode-textmate encodes it. */
  #styleOf(metadata: number): string {
    return this.#styles[(metadata >>> 15) & 0x1ff] ?? ''
  }
}

function span(text: string, style: string): string {
  if (text === '') return ''
  const escaped = escapeHtml(text)
  return style === '' ? escaped : `<span style="${style}">${escaped}</span>`
}
