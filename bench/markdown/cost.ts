import type { Markdown } from '../../src/markdown/renderer.ts'
import { piecesOf } from './answer.ts'

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
    for (const piece of piecesOf(text)) {
      stream.append(piece)
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
