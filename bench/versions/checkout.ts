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

/** A commit's files in a folder of their own, with the packages that it had. */
export async function checkOut(commit: string, folder: string, interrupted: AbortSignal): Promise<Version> {
  const root = join(folder, commit)
  await mkdir(root)
  const archive = `${root}.tar`
  await execute(['git', 'archive', '--output', archive, commit], WORKING_TREE.root, interrupted)
  await execute(['tar', '-xf', archive, '-C', root], folder, interrupted)
  console.error(`installing what ${commit} needs`)
  // Not `npm ci`: it refuses lock files that lack what another system needs, and older revisions have such.
  await execute(['npm', 'install', '--omit=dev', ...NPM_QUIET], root, interrupted)
  return { name: 'before', root }
}
