import { createOnigurumaEngine } from '@shikijs/engine-oniguruma'
import { codeToTokensBase, createShikiPrimitive } from '@shikijs/primitive'
import MarkdownIt from 'markdown-it'
import { loadLanguages } from '../../src/highlighting/languages.ts'
import { escapeHtml, LINE_BREAK } from '../../src/markdown/html.ts'
import { makeSafe } from '../../src/markdown/safety.ts'
import { pairThemes } from '../../src/markdown/theme.ts'

/**
 * Renders the whole text after each piece, as a simple program would: with plain markdown-it, and with Shiki's own function
 * for a block of code. Safety rules, languages and colors are Stockroom's, so that the output can be equal.
 */
export async function openWholeRendering(): Promise<(text: string) => string> {
  const [engine, languages] = await Promise.all([
    createOnigurumaEngine(import('@shikijs/engine-oniguruma/wasm-inlined')),
    loadLanguages(),
  ])
  const { theme, blockStyle } = pairThemes()
  const shiki = createShikiPrimitive({ engine, langs: [], themes: [theme.registration], warnings: false })
  const markdown = new MarkdownIt({
    linkify: true,
    highlight(code, label) {
      const language = languages.get(label.toLowerCase())
      if (!language) return `<pre class="code" style="${blockStyle}"><code>${escapeHtml(code)}</code></pre>`
      shiki.loadLanguageSync(...language.registrations)
      const isWhole = code.endsWith('\n')
      const lines = codeToTokensBase(shiki, isWhole ? code.slice(0, -1) : code, {
        lang: language.name,
        theme: theme.registration.name ?? '',
      })
      const html = lines.map(tokens => lineOf(tokens, color => theme.styleOf(color))).join('\n')
      const text = isWhole ? `${html}\n` : html
      return `<pre class="code" style="${blockStyle}"><code class="language-${language.name}">${text}</code></pre>`
    },
  })
  makeSafe(markdown)
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
  return text => markdown.render(text).replaceAll('\n', LINE_BREAK)
}

/** Adjacent tokens of the same color become one element. */
function lineOf(
  tokens: readonly { content: string; color?: string }[],
  styleOf: (color: string) => string | null,
): string {
  const runs: { style: string | null; text: string }[] = []
  for (const { content, color = '' } of tokens) {
    const style = styleOf(color)
    const last = runs.at(-1)
    if (last?.style === style) last.text += content
    else runs.push({ style, text: content })
  }
  return runs
    .map(({ style, text }) => (style ? `<span style="${style}">${escapeHtml(text)}</span>` : escapeHtml(text)))
    .join('')
}
