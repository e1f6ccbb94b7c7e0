import { cpus } from 'node:os'

const LAST_CORE = cpus().length - 1

/**
 * Whether servers and the load generator get a core each. Without it they compete, and a rate says as much about the load
 * generator as about the server.
 */
export const PINNED = LAST_CORE > 0 && mayUse(`0,${LAST_CORE}`)

/** The command, on the core that servers have for themselves. */
export function onServerCore(command: readonly string[]): readonly string[] {
  return onCores('0', command)
}

/** The command, on the core that the load generator has for itself. */
export function onGeneratorCore(command: readonly string[]): readonly string[] {
  return onCores(String(LAST_CORE), command)
}

function onCores(cores: string, command: readonly string[]): readonly string[] {
  return PINNED ? ['taskset', '--cpu-list', cores, ...command] : command
}

function mayUse(cores: string): boolean {
  return Bun.which('taskset') !== null && Bun.spawnSync(['taskset', '--cpu-list', cores, 'true']).success
}
