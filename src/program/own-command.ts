/** The command of this process without arguments: the executable, or Bun with the source. */
export function ownCommand(): string[] {
  const isExecutable = Bun.main.startsWith('/$bunfs/')
  return isExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main]
}
