import { openHighlighter } from '../../highlighting/highlighter.ts'
import { type StyleRule, themeOf } from '../../highlighting/theme.ts'
import { type Styling, styled } from './style.ts'

/** The terminal color for each kind of token. */
const RULES: readonly StyleRule<Styling>[] = [
  { style: styled('gray'), scope: ['comment', 'punctuation.definition.comment'] },
  { style: styled('green'), scope: ['string', 'punctuation.definition.string', 'markup.inserted'] },
  { style: styled('yellow'), scope: ['constant', 'support.constant', 'variable.language'] },
  { style: styled('magenta'), scope: ['keyword', 'storage', 'markup.deleted'] },
  { style: styled('blue'), scope: ['entity.name.function', 'support.function', 'entity.name.command'] },
  {
    style: styled('cyan'),
    scope: ['entity.name.type', 'entity.name.class', 'support.type', 'support.class', 'entity.name.tag'],
  },
]

/**
 * Starts a code block, and returns what highlights its lines in their order. Code in unknown languages stays as it is. `label` is
 * untrusted text: the first word after a fence's marks.
 */
export type CodeHighlighting = (label: string) => (line: string) => string

/** Loads the highlighter. Takes about 50 ms. */
export async function openCodeHighlighting(): Promise<CodeHighlighting> {
  const tokenizerOf = await openHighlighter(themeOf(RULES))
  return label => {
    const tokenizer = tokenizerOf(label)
    if (!tokenizer) return line => line
    let state: Parameters<typeof tokenizer.line>[1] = null
    return line => {
      const tokenized = tokenizer.line(line, state)
      state = tokenized.state
      return tokenized.runs.map(({ text, style }) => (style ? style(text) : text)).join('')
    }
  }
}
