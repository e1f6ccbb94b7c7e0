import { styleText } from 'node:util'

type Format = Parameters<typeof styleText>[0]

function styled(format: Format): (text: string) => string {
  // Whether colours are wanted is decided before, once, and not by the stream that Node would look at.
  return text => (text === '' ? '' : styleText(format, text, { validateStream: false }))
}

/** The sixteen colours that a terminal's own theme defines, so that all is readable on light and dark. */
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
