import { auth } from '../access/settings.ts'
import { type CommandLine, count, list, onOff, type Setting } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { port } from '../server/settings.ts'

const MANY_BYTES = 1_099_511_627_776

export const servePort = port(8000)

/** Size limit of the cache; see `storage/cache/cached.ts`. */
export const cacheBytes: Setting<number> = count(
  'CACHE_BYTES',
  67_108_864,
  [0, MANY_BYTES],
  'memory for cached responses, in bytes; 0 switches the cache off',
)

/** Size limit of the kept answers; see `storage/idempotency/space.ts`. */
export const idempotencyBytes: Setting<number> = count(
  'IDEMPOTENCY_BYTES',
  1_073_741_824,
  [1, MANY_BYTES],
  'space in the database for the answers to requests with an Idempotency-Key, which it keeps for a day, in bytes',
)

/** How far followers of `/events` can go back; see `events/`. */
export const eventsKept: Setting<number> = count(
  'EVENTS_KEPT',
  1_000_000,
  [0, 1_000_000_000],
  'number of events that /events can go back; 0 switches it off',
)

export const publicReads: Setting<boolean> = onOff(
  'PUBLIC_READS',
  'off',
  'with --auth keys: anyone may read categories, products and reviews without a key',
)

export const adminPage: Setting<boolean> = onOff(
  'ADMIN_PAGE',
  'on',
  'the admin page at /admin/: with --auth keys for holders of a key, otherwise for this machine alone',
)

/** `null` if anyone may do anything. Throws a `SettingError`. */
export function readAccess(line: CommandLine): { readonly publicReads: boolean } | null {
  const areReadsPublic = line.value(publicReads)
  if (line.value(auth) === 'keys') return { publicReads: areReadsPublic }
  // Otherwise operators might believe that only reads are public.
  if (areReadsPublic)
    throw new SettingError(`${publicReads.variable}: on requires AUTH=keys; without it, writes are public too`)
  return null
}

export const corsOrigins: Setting<string[]> = list(
  'CORS_ORIGINS',
  'ORIGINS',
  webOrigin,
  'web origins whose pages may call the service, separated by commas; * for any; none by default',
)

function webOrigin(text: string): string {
  if (text === '*') return text
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null' || origin !== text || text.includes('*')) {
    throw new SettingError(
      'a web origin is a scheme, a host and perhaps a port, with no path or wildcard, for example https://shop.example',
    )
  }
  return text
}
