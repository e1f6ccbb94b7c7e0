import type { Markdown } from '../../src/markdown/renderer.ts'

export const PIECE_CHARACTERS = 4

/** CPU milliseconds to render texts after each piece. */
export function costOf(
  markdown: Pick<Markdown, 'stream'>,
  texts: readonly string[],
  use: (html: string) => number = html => html.length,
): number {
  const before = cpuMilliseconds()
  let used = 0
  for (const text of texts) {
    const stream = markdown.stream()
    for (let start = 0; start < text.length; start += PIECE_CHARACTERS) {
      stream.append(text.slice(start, start + PIECE_CHARACTERS))
      used += use(stream.html())
    }
  }
  if (used === 0) throw new Error('nothing was rendered')
  return cpuMilliseconds() - before
}

export function cpuMilliseconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
