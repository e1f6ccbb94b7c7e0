import { createOnigurumaEngine } from '@shikijs/engine-oniguruma'
import { createShikiPrimitive, type Grammar, type RegexEngine } from '@shikijs/primitive'
import { type Language, loadLanguages } from './languages.ts'
import { withQuickPatterns } from './quick-patterns.ts'
import type { Theme } from './theme.ts'

/** Longer lines are not highlighted: the time to tokenize a line grows with the square of its length. */
const LINE_MAX_CHARACTERS = 300

/** Deeper code is not highlighted: the time to tokenize a line grows with the number of constructs that are open. */
const DEPTH_MAX = 200

/**
 * Finds the tokenizer for a language; `null` if the language is not known. `label` is untrusted text: the first word after a
 * fence's marks. The first call for a language compiles its grammar, which takes up to 0.2 s.
 */
export type Highlighter<Style> = (label: string) => Tokenizer<Style> | null

/** Loads the regex engine and the grammars. Takes about 50 ms. */
export async function openHighlighter<Style>(theme: Theme<Style>): Promise<Highlighter<Style>> {
  const [engine, languages] = await Promise.all([
    createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
    loadLanguages(),
  ])
  const tokenizers = new Map<Language, Tokenizer<Style>>()
  return label => {
    const language = languages.get(label.toLowerCase())
    if (!language) return null
    return tokenizers.getOrInsertComputed(language, () => new Tokenizer(engine, language, theme))
  }
}

/** A grammar's state between two lines; `null` before the first line. */
export type GrammarState = Parameters<Grammar['tokenizeLine2']>[1]

/** A part of a line in one style; `null` for plain text. */
export interface Run<Style> {
  readonly text: string
  readonly style: Style | null
}

/** One language's compiled grammar, in a registry of its own so that other languages cannot change its output. */
export class Tokenizer<Style> {
  /** The grammar's name for the language, not the label in the text. */
  readonly language: string
  readonly #grammar: Grammar
  /** Styles by the foreground color's number in a token's metadata. */
  readonly #styles: readonly (Style | null)[]

  constructor(engine: RegexEngine, { name, registrations }: Language, theme: Theme<Style>) {
    const { registration } = theme
    const langs = withQuickPatterns(registrations)
    const shiki = createShikiPrimitive({ engine, langs, themes: [registration], warnings: false })
    this.language = name
    this.#styles = shiki.setTheme(registration).colorMap.map(color => theme.styleOf(color ?? ''))
    this.#grammar = shiki.getLanguage(name)
  }

  /** Tokenizes a line without its line break, and returns the state after it. */
  line(text: string, state: GrammarState): { runs: Run<Style>[]; state: GrammarState } {
    if (text === '') return { runs: [], state }
    const isDeep = state !== null && state.depth > DEPTH_MAX
    if (isDeep || text.length > LINE_MAX_CHARACTERS) return { runs: [{ text, style: null }], state }
    const { tokens, ruleStack } = this.#grammar.tokenizeLine2(text, state)
    const runs: Run<Style>[] = []
    for (let index = 0; index < tokens.length; index += 2) {
      const style = this.#styles[foregroundOf(tokens[index + 1] ?? 0)] ?? null
      runs.push({ text: text.slice(tokens[index], tokens[index + 2]), style })
    }
    return { runs, state: ruleStack }
  }
}

/** vscode-textmate stores the foreground color in bits 15 to 23 of a token's metadata. */
function foregroundOf(metadata: number): number {
  return (metadata >>> 15) & 0x1ff
}
