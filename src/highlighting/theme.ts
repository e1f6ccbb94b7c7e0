import type { ThemeRegistration } from '@shikijs/primitive'

/** Which code gets a style, by TextMate's scopes. `null` is the style of plain text. */
export interface StyleRule<Style> {
  readonly scope: string | string[]
  readonly style: Style | null
}

/**
 * A theme of anything at all. The highlighter knows themes of colors only, so each style is a made-up color, its number,
 * and `styleOf` finds the style of such a color again.
 */
export interface Theme<Style> {
  readonly registration: ThemeRegistration
  styleOf(color: string): Style | null
}

/** Makes a theme of these rules; of two that match, TextMate takes the more specific one, then the later one. */
export function themeOf<Style>(rules: readonly StyleRule<Style>[]): Theme<Style> {
  const styles = [...new Set(rules.map(({ style }) => style).filter(style => style !== null))]
  const colorOf = (style: Style | null) => madeUpColor(style === null ? 0 : styles.indexOf(style) + 1)
  const settings = rules.map(({ scope, style }) => ({ scope, settings: { foreground: colorOf(style) } }))
  const byColor = new Map(styles.map(style => [colorOf(style), style]))
  return {
    registration: { name: 'made-up', settings, fg: madeUpColor(0), bg: madeUpColor(0) },
    styleOf: color => byColor.get(color.toLowerCase()) ?? null,
  }
}

function madeUpColor(number: number): string {
  return `#${number.toString(16).padStart(6, '0')}`
}
