import { spawnSync } from 'bun'

/** Whether a process may have mounts of its own, as root may, and many a user in a namespace. */
export const CAN_MOUNT =
  Bun.which('unshare') !== null && spawnSync([...inItsOwnMounts('mount -t tmpfs none /tmp'), 'true']).exitCode === 0

/** A program that runs another one with mounts that only it sees, and that end with it. */
export function inItsOwnMounts(mount: string, then: readonly string[] = []): string[] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
  return ['unshare', '--mount', ...asRoot, 'bash', '-c', [mount, ...then, 'exec "$@"'].join(' && '), 'bash']
}
