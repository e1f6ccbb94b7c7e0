import type { MarkdownIt, RendererRule, StateCore, Token } from 'markdown-it'
import { escapeHtml } from './html.ts'

/** Links that are allowed. A relative link would lead to the page's own server. */
const LINK = /^(?:https?:\/\/|mailto:)./i

/** A link opens a new tab, and sends no referrer. */
const LINK_ATTRIBUTES: [name: string, value: string][] = [
  ['rel', 'noopener noreferrer nofollow'],
  ['target', '_blank'],
]

/**
 * Makes untrusted text harmless: HTML is shown as text, links must be http, https or mailto, and an image becomes a link.
 * An image would load by itself, and its address could send the page's content to another server.
 */
export function makeSafe(markdown: MarkdownIt): void {
  markdown.set({ html: false })
  // markdown-it has already decoded entities and escapes in the address.
  markdown.validateLink = url => LINK.test(url)
  markdown.core.ruler.push(UNNEST_LINKS, unnestLinks)
  markdown.renderer.rules.link_open = openLink
  markdown.renderer.rules.image = imageAsLink
}

/** A rule that must run after all others that parse inline text. */
export const UNNEST_LINKS = 'unnest_links'

/** A link must not contain another link, or an image that becomes one. markdown-it allows both. */
function unnestLinks({ tokens }: StateCore): void {
  for (const token of tokens) {
    if (token.children?.some(({ type }) => type === 'link_open')) token.children = withoutInnerLinks(token.children)
  }
}

function withoutInnerLinks(tokens: readonly Token[]): Token[] {
  let depth = 0
  return tokens.filter(token => {
    if (token.type === 'link_close') depth -= 1
    const isInLink = depth > 0
    if (token.type === 'link_open') depth += 1
    if (token.type === 'image') token.meta = { ...token.meta, isInLink }
    return !(isInLink && (token.type === 'link_open' || token.type === 'link_close'))
  })
}

const openLink: RendererRule = (tokens, index, options, _environment, renderer) => {
  const token = tokens[index]
  for (const [name, value] of LINK_ATTRIBUTES) token?.attrSet(name, value)
  return renderer.renderToken(tokens, index, options)
}

const imageAsLink: RendererRule = (tokens, index, options, environment, renderer) => {
  const image = tokens[index]
  if (!image) return ''
  const address = String(image.attrGet('src'))
  const words = renderer.renderInlineAsText(image.children ?? [], options, environment).trim()
  const attrs: Token['attrs'] = [['href', address]]
  const title = image.attrGet('title')
  if (title) attrs.push(['title', title])
  attrs.push(...LINK_ATTRIBUTES)
  const label = escapeHtml(words || address)
  return image.meta?.isInLink ? label : `<a${renderer.renderAttrs({ attrs })}>${label}</a>`
}
