import type { ThemeRegistration } from '@shikijs/primitive'

/** Assigns a style to TextMate scopes; `null` for the style of plain text. */
export interface StyleRule<Style> {
  readonly scope: string | string[]
  readonly style: Style | null
}

/**
 * A theme with styles of any type. Shiki's themes know colors only, so each style stands for a placeholder color, and
 * `styleOf` turns such a color back into the style.
 */
export interface Theme<Style> {
  readonly registration: ThemeRegistration
  styleOf(color: string): Style | null
}

/** A theme with these rules. If several match, TextMate takes the most specific one, then the last one. */
export function themeOf<Style>(rules: readonly StyleRule<Style>[]): Theme<Style> {
  const styles = [...new Set(rules.map(({ style }) => style).filter(style => style !== null))]
  const colorOf = (style: Style | null) => placeholderColor(style === null ? 0 : styles.indexOf(style) + 1)
  const settings = rules.map(({ scope, style }) => ({ scope, settings: { foreground: colorOf(style) } }))
  const byColor = new Map(styles.map(style => [colorOf(style), style]))
  return {
    registration: { name: 'placeholders', settings, fg: placeholderColor(0), bg: placeholderColor(0) },
    styleOf: color => byColor.get(color.toLowerCase()) ?? null,
  }
}

function placeholderColor(number: number): string {
  return `#${number.toString(16).padStart(6, '0')}`
}
