import { closeSync, existsSync, fsyncSync, linkSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { errorMessage } from './error-message.ts'
import { OperatorError } from './operator-error.ts'
import { type StopSignal, stopSignals } from './stop-signals.ts'

/** Added to a signal's number, this is the exit status of a program that the signal ended. */
const SIGNAL_STATUS = 128

export function mustBeNew(path: string): void {
  if (existsSync(path)) throw new OperatorError(`${path} already exists; nothing is overwritten`)
}

/**
 * Writes a file or folder under another name until it is complete and on the disk, so `path` never names a partial one.
 * `write` gets the other name.
 */
export async function writeNew(path: string, write: (partial: string) => void | Promise<void>): Promise<void> {
  await withPartial(path, async partial => {
    await write(partial)
    giveName(partial, path)
  })
}

/** Runs `work` with a name beside `path`. Afterwards nothing is there under that name, whatever happens. */
export async function withPartial(path: string, work: (partial: string) => void | Promise<void>): Promise<void> {
  const partial = `${path.replace(/\/+$/, '')}.${crypto.randomUUID()}.partial`
  const remove = () => {
    try {
      rmSync(partial, { recursive: true, force: true })
    } catch {
      // Nothing can have been written there, for example into a folder of somebody else.
    }
  }
  const stop = (signal: StopSignal) => {
    remove()
    process.exit(SIGNAL_STATUS + constants.signals[signal])
  }
  const signals = stopSignals()
  for (const signal of signals) process.once(signal, stop)
  try {
    await work(partial)
  } catch (error) {
    throw new OperatorError(`cannot write ${path}: ${errorMessage(error)}`)
  } finally {
    for (const signal of signals) process.off(signal, stop)
    remove()
  }
}

/** Waits until a file or, with `r`, a folder is on the disk. */
export function syncToDisk(path: string, flags: 'r' | 'r+'): void {
  const descriptor = openSync(path, flags)
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Uses a hard link, because renaming would overwrite a file that another process has just made. */
function giveName(partial: string, path: string): void {
  try {
    linkSync(partial, path)
  } catch (error) {
    // Folders have no hard links, nor do some file systems, such as those of memory sticks. A link that leads nowhere is kept:
    // the disk that it leads to may be missing.
    if (lstatSync(path, { throwIfNoEntry: false })) throw error
    renameSync(partial, path)
  }
}
