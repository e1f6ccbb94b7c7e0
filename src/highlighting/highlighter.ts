import { createOnigurumaEngine } from '@shikijs/engine-oniguruma'
import { createShikiPrimitive, type Grammar, type RegexEngine } from '@shikijs/primitive'
import { type Language, loadLanguages } from './languages.ts'
import type { Theme } from './theme.ts'

/** A longer line is shown plain: the time to tokenize a line grows with the square of its length. */
const LINE_MAX_CHARACTERS = 300

/** Tells code apart in the known languages; a painter turns the styles into HTML or into a terminal's colors. */
export class Highlighter<Style> {
  readonly #engine: RegexEngine
  readonly #languages: ReadonlyMap<string, Language>
  readonly #theme: Theme<Style>
  readonly #tokenizers = new Map<Language, Tokenizer<Style>>()

  constructor(engine: RegexEngine, languages: ReadonlyMap<string, Language>, theme: Theme<Style>) {
    this.#engine = engine
    this.#languages = languages
    this.#theme = theme
  }

  /**
   * The tokenizer for a language; `null` if there is no such language. `label` is the first word behind a fence's marks,
   * which is not trusted. The first call for a language compiles its grammar, which takes up to 0.2 s.
   */
  tokenizer(label: string): Tokenizer<Style> | null {
    const language = this.#languages.get(label.toLowerCase())
    if (!language) return null
    const tokenizer = this.#tokenizers.get(language) ?? new Tokenizer(this.#engine, language, this.#theme)
    this.#tokenizers.set(language, tokenizer)
    return tokenizer
  }
}

/** Loads the regex engine and the grammars, in some 50 ms. */
export async function openHighlighter<Style>(theme: Theme<Style>): Promise<Highlighter<Style>> {
  const [engine, languages] = await Promise.all([
    createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
    loadLanguages(),
  ])
  return new Highlighter(engine, languages, theme)
}

/** The state of a grammar between two lines; `null` before the first. */
export type GrammarState = Parameters<Grammar['tokenizeLine2']>[1]

/** A part of a line in one style; `null` is plain. */
export interface Run<Style> {
  readonly text: string
  readonly style: Style | null
}

/** One language's compiled grammar. Each has its own registry, so no other language changes how it highlights. */
export class Tokenizer<Style> {
  /** The language's name: its grammar's, never the text's own. */
  readonly language: string
  readonly #grammar: Grammar
  /** By the number of the foreground color in a token's metadata. */
  readonly #styles: readonly (Style | null)[]

  constructor(engine: RegexEngine, { name, registrations }: Language, theme: Theme<Style>) {
    const { registration } = theme
    const shiki = createShikiPrimitive({ engine, langs: [...registrations], themes: [registration], warnings: false })
    this.language = name
    this.#styles = shiki.setTheme(registration).colorMap.map(color => theme.styleOf(color ?? ''))
    this.#grammar = shiki.getLanguage(name)
  }

  /** Tokenizes a line, without its line break, and returns the state after it. */
  line(text: string, state: GrammarState): { runs: Run<Style>[]; state: GrammarState } {
    if (text === '') return { runs: [], state }
    if (text.length > LINE_MAX_CHARACTERS) return { runs: [{ text, style: null }], state }
    const { tokens, ruleStack } = this.#grammar.tokenizeLine2(text, state)
    const runs: Run<Style>[] = []
    for (let index = 0; index < tokens.length; index += 2) {
      const style = this.#styles[foregroundOf(tokens[index + 1] ?? 0)] ?? null
      runs.push({ text: text.slice(tokens[index], tokens[index + 2]), style })
    }
    return { runs, state: ruleStack }
  }
}

/** The foreground is in bits 15 to 23 of a token's metadata, as vscode-textmate encodes it. */
function foregroundOf(metadata: number): number {
  return (metadata >>> 15) & 0x1ff
}
