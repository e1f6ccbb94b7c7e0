import { spawnSync } from 'bun'

/** Whether a process can have its own mounts: root can, and on many systems any user in a namespace. */
export const CAN_MOUNT =
  Bun.which('unshare') !== null && spawnSync([...inItsOwnMounts('mount -t tmpfs none /tmp'), 'true']).exitCode === 0

/** A command line that runs another program with mounts that only it sees and that end with it. */
export function inItsOwnMounts(mount: string, then: readonly string[] = []): string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', '--mount', ...asRoot, 'bash', '-c', [mount, ...then, 'exec "$@"'].join(' && '), 'bash']
}
