import { Hono } from 'hono'
import { EXPOSITION_TYPE, exposition } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'
import { finishApp, type Probe } from '../server/app.ts'
import type { App } from '../server/requests.ts'
import { routing } from '../server/routing.ts'
import type { History } from './status/history.ts'
import { addStatus } from './status/routes.ts'

export interface AdminOptions {
  readonly families: () => Promise<readonly Family[]>
  readonly history: History
  readonly probe: Probe
  /** The port that clients use. */
  readonly port: () => number
}

/** The app for operators. It opens no port. */
export function createAdmin({ families, history, probe, port }: AdminOptions): App {
  const admin: App = new Hono(routing())
  admin.get('/metrics', async context =>
    context.body(exposition(await families()), 200, { 'Content-Type': EXPOSITION_TYPE, 'Cache-Control': 'no-store' }),
  )
  addStatus(admin, { history, probe, port })
  finishApp(admin, probe)
  return admin
}
