import { version } from '../program/version.ts'
import { DESCRIPTORS_MAX, openDescriptors } from './descriptors.ts'
import { counter, type Family, gauge } from './family.ts'

/** The operating system's figures for this process, under the names that all exporters use. */
export function processFamilies(): Family[] {
  const { user, system } = process.cpuUsage()
  return [
    counter('process_cpu_seconds_total', 'Processor time that the process has used.', (user + system) / 1_000_000),
    ...residentMemory(),
    gauge(
      'process_open_fds',
      'Files and sockets that the process has open.',
      Math.min(openDescriptors(), DESCRIPTORS_MAX),
    ),
    ...(Number.isFinite(DESCRIPTORS_MAX)
      ? [gauge('process_max_fds', 'How many files and sockets the process may have open.', DESCRIPTORS_MAX)]
      : []),
    gauge(
      'process_start_time_seconds',
      'When the process started, in seconds since 1970.',
      Math.round(Date.now() - process.uptime() * 1_000) / 1_000,
      'least',
    ),
    gauge(
      'stockroom_build_info',
      'Always 1; the labels tell the versions of the program and of its runtime.',
      [{ labels: { version, bun: Bun.version }, value: 1 }],
      'greatest',
    ),
  ]
}

/** Reading it takes a descriptor. If none is left, the other figures show that. */
function residentMemory(): Family[] {
  try {
    return [gauge('process_resident_memory_bytes', 'Memory that the process occupies.', process.memoryUsage.rss())]
  } catch {
    return []
  }
}
