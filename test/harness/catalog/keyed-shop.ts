import type { Scope } from '../../../src/access/key.ts'
import { type Client, client } from '../client.ts'
import type { Engine } from '../engines.ts'
import { run, type Service, startService } from '../service.ts'
import { storeKey } from '../stored-keys.ts'

export interface KeyedShop extends AsyncDisposable {
  readonly url: string
  readonly service: Service
  /** A client without a key, and one with a key of each scope. */
  readonly api: Readonly<Record<Scope | 'without', Client>>
  /** One key of each scope. */
  readonly keys: Readonly<Record<Scope, string>>
}

/** A service that asks for keys, and a key of each scope. */
export async function startKeyedShop(engine: Engine, flags: readonly string[] = []): Promise<KeyedShop> {
  const open = new AsyncDisposableStack()
  const { url } = open.use(await engine.freshDatabase())
  const keys = {
    read: await storeKey(url, 'reader', 'read'),
    write: await storeKey(url, 'writer', 'write'),
    admin: await storeKey(url, 'owner', 'admin'),
  }
  const service = open.use(await startKeyed(url, flags))
  const clientWith = (secret: string) => client(() => service.address, bearer(secret))
  const api = {
    without: client(() => service.address),
    read: clientWith(keys.read),
    write: clientWith(keys.write),
    admin: clientWith(keys.admin),
  }
  return { url, service, keys, api, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Another service on the same database. */
export function startKeyed(url: string, flags: readonly string[] = []): Promise<Service> {
  return startService(url, { flags: ['--auth', 'keys', ...flags] })
}

export async function revokeKey(url: string, name: string): Promise<void> {
  const { status, errors } = await run(['key', '--database', url, 'revoke', name])
  if (status !== 0) throw new Error(errors)
}

export function bearer(secret: string): Record<string, string> {
  return { Authorization: `Bearer ${secret}` }
}
