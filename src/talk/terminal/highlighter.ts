import { styleText } from 'node:util'
import { createOnigurumaEngine } from '@shikijs/engine-oniguruma'
import { createShikiPrimitive, type Grammar, type RegexEngine, type ThemeRegistration } from '@shikijs/primitive'
import { type Language, loadLanguages } from '../../markdown/languages.ts'

/** A longer line of code is shown plain: tokenizing takes a time that grows with the square of a line's length. */
const LINE_MAX_CHARACTERS = 300

type Color = Parameters<typeof styleText>[0]

/** What is told apart in code, by TextMate's scopes, and the terminal's colour for it. */
const COLORS: readonly (readonly [color: Color, scopes: readonly string[]])[] = [
  ['gray', ['comment', 'punctuation.definition.comment']],
  ['green', ['string', 'punctuation.definition.string', 'markup.inserted']],
  ['yellow', ['constant', 'support.constant', 'variable.language']],
  ['magenta', ['keyword', 'storage', 'markup.deleted']],
  ['blue', ['entity.name.function', 'support.function', 'entity.name.command']],
  ['cyan', ['entity.name.type', 'entity.name.class', 'support.type', 'support.class', 'entity.name.tag']],
]

/** Each colour is a made-up one, its number, which the terminal's takes the place of. */
const THEME: ThemeRegistration = {
  name: 'terminal',
  settings: COLORS.map(([, scope], index) => ({ scope: [...scope], settings: { foreground: madeUpColor(index + 1) } })),
  fg: madeUpColor(0),
  bg: madeUpColor(0),
}

/** Lines of code, in their order, with the terminal's colours. */
export type CodeHighlighting = (line: string) => string

/** Highlights code in the languages that are known; shows other code as it is. */
export interface Highlighter {
  /** The beginning of a code block. `label` is what stands behind a fence's marks; it is not trusted. */
  readonly open: (label: string) => CodeHighlighting
}

/** Loads the regex engine and the grammars, which takes some 50 ms; a language is compiled when it is first met. */
export async function openHighlighter(): Promise<Highlighter> {
  const [engine, languages] = await Promise.all([
    createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
    loadLanguages(),
  ])
  const grammars = new Map<Language, CompiledGrammar>()
  return {
    open: label => {
      const language = languages.get(label.toLowerCase())
      if (!language) return line => line
      const compiled = grammars.get(language) ?? compile(engine, language)
      grammars.set(language, compiled)
      return highlighting(compiled)
    },
  }
}

interface CompiledGrammar {
  readonly grammar: Grammar
  /** By the number of the foreground colour in a token's metadata; `null` for the terminal's own. */
  readonly colors: readonly (Color | null)[]
}

function compile(engine: RegexEngine, { name, registrations }: Language): CompiledGrammar {
  const shiki = createShikiPrimitive({ engine, langs: [...registrations], themes: [THEME], warnings: false })
  const numbered = new Map(COLORS.map(([color], index) => [madeUpColor(index + 1), color]))
  const colors = shiki.setTheme(THEME).colorMap.map(color => numbered.get((color ?? '').toLowerCase()) ?? null)
  return { grammar: shiki.getLanguage(name), colors }
}

function highlighting({ grammar, colors }: CompiledGrammar): CodeHighlighting {
  let state: Parameters<Grammar['tokenizeLine2']>[1] = null
  return line => {
    if (line === '' || line.length > LINE_MAX_CHARACTERS) return line
    const { tokens, ruleStack } = grammar.tokenizeLine2(line, state)
    state = ruleStack
    let shown = ''
    for (let index = 0; index < tokens.length; index += 2) {
      const text = line.slice(tokens[index], tokens[index + 2])
      const color = colors[foregroundOf(tokens[index + 1] ?? 0)]
      shown += color ? styleText(color, text, { validateStream: false }) : text
    }
    return shown
  }
}

/** It is in bits 15 to 23 of a token's metadata, as vscode-textmate encodes it. */
function foregroundOf(metadata: number): number {
  return (metadata >>> 15) & 0x1ff
}

function madeUpColor(number: number): string {
  return `#${number.toString(16).padStart(6, '0')}`
}
