import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { errorMessage } from '../../error-message.ts'
import { OperatorError } from '../../operator-error.ts'

/** How the shell says which signal ended a program. */
const STATUS = { SIGINT: 130, SIGTERM: 143 } as const

export function mustBeNew(path: string): void {
  if (existsSync(path)) throw new OperatorError(`${path} already exists; nothing is overwritten`)
}

/**
 * Writes a file, or a folder, under another name until it is whole and on the disk: what has the name `path` is always
 * complete. `write` gets the other name.
 */
export async function writeNew(path: string, write: (partial: string) => void | Promise<void>): Promise<void> {
  const partial = `${path}.${crypto.randomUUID()}.partial`
  const remove = () => rmSync(partial, { recursive: true, force: true })
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    remove()
    process.exit(STATUS[signal])
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    await write(partial)
    giveName(partial, path)
  } catch (error) {
    throw new OperatorError(`cannot write ${path}: ${errorMessage(error)}`)
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    remove()
  }
}

/** Renaming would overwrite what another process has made meanwhile; a second name for the same file does not. */
function giveName(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    // Folders have one name, and so do the files of some file systems, as those of memory sticks.
    if (existsSync(path)) throw error
    renameSync(partial, path)
  }
}
