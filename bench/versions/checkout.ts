import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { execute, NPM_QUIET } from '../command.ts'
import { UsageError } from '../options.ts'
import { type Version, WORKING_TREE } from '../stockroom.ts'

/** The commit that a revision names. */
export async function commitOf(revision: string, interrupted: AbortSignal): Promise<string> {
  try {
    const words = ['git', 'rev-parse', '--verify', '--short', `${revision}^{commit}`]
    return (await execute(words, WORKING_TREE.root, interrupted)).trim()
  } catch {
    throw new UsageError(`there is no revision ${revision} here`)
  }
}

/** Checks a commit out into a folder of its own, and installs its packages. */
export async function checkOut(commit: string, folder: string, interrupted: AbortSignal): Promise<Version> {
  const root = join(folder, commit)
  await mkdir(root)
  const archive = `${root}.tar`
  await execute(['git', 'archive', '--output', archive, commit], WORKING_TREE.root, interrupted)
  await execute(['tar', '-xf', archive, '-C', root], folder, interrupted)
  console.error(`installing what ${commit} needs`)
  // Not `npm ci`: it rejects lock files that lack packages for another system, as those of older revisions do.
  await execute(['npm', 'install', '--omit=dev', ...NPM_QUIET], root, interrupted)
  return { name: 'before', root }
}
