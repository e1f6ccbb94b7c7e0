import { styleText } from 'node:util'
import { openHighlighter } from '../../highlighting/highlighter.ts'
import { type StyleRule, themeOf } from '../../highlighting/theme.ts'

type Color = Parameters<typeof styleText>[0]

/** The terminal color for each kind of token. */
const RULES: readonly StyleRule<Color>[] = [
  { style: 'gray', scope: ['comment', 'punctuation.definition.comment'] },
  { style: 'green', scope: ['string', 'punctuation.definition.string', 'markup.inserted'] },
  { style: 'yellow', scope: ['constant', 'support.constant', 'variable.language'] },
  { style: 'magenta', scope: ['keyword', 'storage', 'markup.deleted'] },
  { style: 'blue', scope: ['entity.name.function', 'support.function', 'entity.name.command'] },
  {
    style: 'cyan',
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
      return tokenized.runs.map(colored).join('')
    }
  }
}

function colored({ text, style }: { text: string; style: Color | null }): string {
  return style === null ? text : styleText(style, text, { validateStream: false })
}
