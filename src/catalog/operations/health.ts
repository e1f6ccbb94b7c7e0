import { jsonAnswer } from '../answers.ts'
import type { Catalog } from '../operation.ts'

/** Whether the database answers; rejects when it does not. */
export type DatabaseProbe = () => Promise<void>

/** For whoever runs the service: `/healthz` says that the process is alive, `/readyz` that it can serve. */
export function addHealth(catalog: Catalog, probe: DatabaseProbe): void {
  catalog.get('/healthz', () => jsonAnswer({ status: 'ok' }))
  catalog.get('/health', () => jsonAnswer({ status: 'ok' }))
  catalog.get('/readyz', async () => {
    await probe()
    return jsonAnswer({ status: 'ready' })
  })
}
