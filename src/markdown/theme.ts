import type { ThemeRegistration } from '@shikijs/primitive'
import dark from '@shikijs/themes/github-dark-default'
import light from '@shikijs/themes/github-light-default'

/** A style of code: the colour of its text on a light and on a dark page, in CSS. */
type Style = string

/**
 * Two themes as one, so that a line is tokenized once for both. The two have the same rules and differ in colours only,
 * so each pair of colours becomes one made-up colour, a number; `styleOf` tells its pair.
 */
export interface PairedTheme {
  readonly registration: ThemeRegistration
  /** The CSS of a made-up colour as Shiki gives it (`#00000A`); empty where it is the text's default. */
  styleOf(color: string): Style
  /** The CSS of the block as a whole. */
  readonly blockStyle: Style
}

/** Pairs GitHub's light theme with its dark one. */
export function pairThemes(): PairedTheme {
  const pairs = new Map<string, string>()
  const numberOf = (ofLight: string, ofDark: string): string => {
    const style = `color:${pair(ofLight, ofDark)}`
    const color = pairs.get(style) ?? `#${(pairs.size + 1).toString(16).padStart(6, '0')}`
    pairs.set(style, color)
    return color
  }
  const foreground = [editorColor(light, 'foreground'), editorColor(dark, 'foreground')] as const
  const background = [editorColor(light, 'background'), editorColor(dark, 'background')] as const
  const base = numberOf(...foreground)
  const darkRules = rulesOf(dark)
  const settings = rulesOf(light).map((rule, index) => {
    const other = darkRules[index]
    if (String(rule.scope) !== String(other?.scope)) throw new Error(`the themes differ in rule ${index}`)
    const ofLight = rule.settings.foreground ?? foreground[0]
    const ofDark = other?.settings.foreground ?? foreground[1]
    return { scope: rule.scope ?? '', settings: { foreground: numberOf(ofLight, ofDark) } }
  })
  const styles = new Map([...pairs].map(([style, color]) => [color, color === base ? '' : style]))
  return {
    registration: { name: 'paired', settings, fg: base, bg: base },
    styleOf: color => styles.get(color.toLowerCase()) ?? '',
    blockStyle: `color:${pair(...foreground)};background-color:${pair(...background)}`,
  }
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
