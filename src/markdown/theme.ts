import type { ThemeRegistration } from '@shikijs/primitive'
import dark from '@shikijs/themes/github-dark-default'
import light from '@shikijs/themes/github-light-default'
import { type Theme, themeOf } from '../highlighting/theme.ts'

/**
 * Combines GitHub's light and dark themes, which have the same rules and differ only in colors, so that each line is tokenized
 * once for both. Styles are CSS declarations with the colors for light and dark pages; `blockStyle` is that of a whole block.
 */
export function pairThemes(): { readonly theme: Theme<string>; readonly blockStyle: string } {
  const foreground = [editorColor(light, 'foreground'), editorColor(dark, 'foreground')] as const
  const background = [editorColor(light, 'background'), editorColor(dark, 'background')] as const
  const plain = styleOf(...foreground)
  const darkRules = rulesOf(dark)
  const rules = rulesOf(light).map((rule, index) => {
    const other = darkRules[index]
    if (String(rule.scope) !== String(other?.scope)) throw new Error(`the themes differ in rule ${index}`)
    const style = styleOf(rule.settings.foreground ?? foreground[0], other?.settings.foreground ?? foreground[1])
    return { scope: rule.scope ?? '', style: style === plain ? null : style }
  })
  return { theme: themeOf(rules), blockStyle: `${plain};background-color:${pair(...background)}` }
}

function styleOf(ofLight: string, ofDark: string): string {
  return `color:${pair(ofLight, ofDark)}`
}

function pair(ofLight: string, ofDark: string): string {
  return `light-dark(${ofLight.toLowerCase()},${ofDark.toLowerCase()})`
}

function rulesOf(theme: ThemeRegistration) {
  return theme.tokenColors ?? theme.settings ?? []
}

function editorColor(theme: ThemeRegistration, part: 'foreground' | 'background'): string {
  const color = theme.colors?.[`editor.${part}`]
  if (color === undefined) throw new Error(`the theme ${theme.name} has no ${part}`)
  return color
}
