import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

/** Styles text. */
export type Styling = (text: string) => string

export function styled(format: Format): Styling {
  // The caller has already decided whether to use colors. By default Node would decide by the stream.
  return text => (text === '' ? '' : styleText(format, text, { validateStream: false }))
}

/** Only the sixteen colors of the terminal's own theme, so that text is readable on light and dark backgrounds. */
export const style = {
  heading: styled(['bold', 'cyan']),
  strong: styled('bold'),
  emphasis: styled('italic'),
  deleted: styled('strikethrough'),
  code: styled('yellow'),
  link: styled('underline'),
  mark: styled('cyan'),
  faint: styled('dim'),
  failure: styled('red'),
  prompt: styled(['bold', 'green']),
} as const
