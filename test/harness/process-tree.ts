import { readFileSync } from 'node:fs'

/** The processes that a process has started and that still run, oldest first; none if it has ended itself. Linux only. */
export function childrenOf(processId: number): number[] {
  try {
    const text = readFileSync(`/proc/${processId}/task/${processId}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
