import { spawn } from 'bun'
import { LAUNCHER_VARIABLE } from '../program/config.ts'
import { OperatorError } from '../program/operator-error.ts'
import { ownCommand } from '../program/own-command.ts'

const LISTENING_LINE = / at (http:\/\/[^\s,]+)/

export interface CatalogService extends AsyncDisposable {
  /** Resolves when the service listens. Rejects if it ends before. */
  readonly address: Promise<string>
  /** Rejects when the service ends. */
  readonly failed: Promise<never>
}

/**
 * Starts `stockroom serve` as a child process on a free port of this machine. It gets none of the user's settings, so that no
 * `DATABASE_URL` leads the demo to real data.
 */
export function startCatalog(database: string): CatalogService {
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${database}`]
  const child = spawn([...ownCommand(), 'serve', ...place, '--access-log', 'off', '--log-level', 'warning'], {
    env: { [LAUNCHER_VARIABLE]: String(process.pid) },
    stdio: ['ignore', 'pipe', 'inherit'],
    // Ctrl-C at a terminal ends a whole group. This one ends before the demo knows why, so it has a group of its own.
    detached: true,
  })
  const failed = child.exited.then((status): never => {
    throw new OperatorError(`the store catalog of the demo has ended with status ${status}`)
  })
  // Callers get the error when they wait for it. After disposal nobody waits, and it must not end the process.
  failed.catch(() => {})
  return {
    address: Promise.race([listeningAddress(child.stdout), failed]),
    failed,
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await child.exited
    },
  }
}

async function listeningAddress(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of output) {
    text += decoder.decode(bytes, { stream: true })
    const address = LISTENING_LINE.exec(text)?.[1]
    if (address) return address
  }
  return new Promise<never>(() => {})
}
