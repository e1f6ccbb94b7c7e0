import { Hono } from 'hono'
import { EXPOSITION_TYPE, exposition } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'
import { finishApp, type Probe } from '../server/app.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'

export interface AdminOptions {
  readonly families: () => Promise<readonly Family[]>
  readonly probe: Probe
}

/** What operators see. It opens no port. */
export function createAdmin({ families, probe }: AdminOptions): App {
  const admin: App = new Hono(routing())
  admin.get('/metrics', async context =>
    context.body(exposition(await families()), 200, { 'Content-Type': EXPOSITION_TYPE, 'Cache-Control': 'no-store' }),
  )
  finishApp(admin, probe)
  return admin
}
