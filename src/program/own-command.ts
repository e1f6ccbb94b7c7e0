const IS_EXECUTABLE = Bun.main.startsWith('/$bunfs/')

/** The program as an operator calls it. If only the executable is installed, npx would fetch another program of this name. */
export const SHOWN_COMMAND = IS_EXECUTABLE ? 'stockroom' : 'npx stockroom'

/** The command of this process without arguments: the executable, or Bun with the source. */
export function ownCommand(): string[] {
  return IS_EXECUTABLE ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main]
}
