import type { MetricsSource, ShownMetrics } from '../metrics/source.ts'
import type { CommandLine } from '../program/config.ts'
import type { ServingProcess } from '../server/worker.ts'
import type { Admin } from './admin.ts'
import { type AdminSettings, readAdminSettings } from './settings.ts'

/** Without a port for operators, nothing is counted. */
const OFF: Admin = {
  observers: [],
  show: () => ({ announce: () => {}, [Symbol.asyncDispose]: async () => {} }),
}

// These functions load the other files of this folder only if there is a port for operators.

/** Throws an `OperatorError` if the port for operators is in use. */
export async function openAdmin(settings: AdminSettings | null, serving: ServingProcess): Promise<Admin> {
  return settings === null ? OFF : (await import('./admin.ts')).countingAdmin(settings, serving)
}

/** For a supervisor: shows the metrics of its workers to operators, if there is a port for them. */
export async function showWorkers(line: CommandLine, source: MetricsSource): Promise<ShownMetrics | null> {
  const settings = readAdminSettings(line)
  return settings && (await import('./admin.ts')).showMetrics(settings, source)
}
