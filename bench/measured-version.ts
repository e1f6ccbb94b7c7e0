import { join } from 'node:path'
import { execute } from './command.ts'
import { WORKING_TREE } from './stockroom.ts'

/** The files that a report writes. */
export const PAGE = join(WORKING_TREE.root, 'docs', 'performance.md')
export const PICTURES = join(WORKING_TREE.root, 'docs', 'performance')
export const SEARCH_PAGE = join(PICTURES, 'search.md')

/** The commit, and whether anything has changed since, besides what a report writes. */
export async function measuredVersion(interrupted: AbortSignal): Promise<string> {
  const git = (...words: string[]) => execute(['git', ...words], WORKING_TREE.root, interrupted)
  const commit = (await git('rev-parse', '--short', 'HEAD')).trim()
  const changed = await git('status', '--porcelain', '--', '.', ...[PAGE, PICTURES].map(path => `:(exclude)${path}`))
  return changed === '' ? commit : `${commit}-dirty`
}
