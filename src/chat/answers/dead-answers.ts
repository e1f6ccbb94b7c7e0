import type { Clock } from '../../clock.ts'
import type { AnswerRepository } from './repository.ts'

/** Missed-heartbeat limit. Longer than it takes to reconnect to a database that others could reach. */
const DEAD_AFTER_MS = 5_000

/**
 * Longest gap between two checks in a row. After a longer one, this process or the store may have stalled, and with it the
 * heartbeats of live processes: they get the whole limit again.
 */
const CHECK_GAP_MAX_MS = 2_000

interface SeenHeartbeat {
  readonly heartbeat: string
  /** The time at which this process first saw it. */
  readonly seenAt: number
}

/**
 * Makes the check that ends the answers of dead processes as interrupted. Call it every second. It rejects with a
 * `DatabaseUnavailableError`.
 */
export function deadAnswersCheck(answers: AnswerRepository, clock: Clock): () => Promise<void> {
  let seen = new Map<string, SeenHeartbeat>()
  let checkedAt = Number.NEGATIVE_INFINITY
  return async () => {
    const before = seen
    seen = new Map()
    const inProgress = await answers.inProgress()
    const now = clock.now()
    const isInARow = now - checkedAt <= CHECK_GAP_MAX_MS
    checkedAt = now
    for (const { reqId, heartbeat } of inProgress) {
      const known = isInARow ? before.get(reqId) : undefined
      seen.set(reqId, known?.heartbeat === heartbeat ? known : { heartbeat, seenAt: now })
    }
    const dead = inProgress.filter(({ reqId }) => now - (seen.get(reqId)?.seenAt ?? now) >= DEAD_AFTER_MS)
    await Promise.all(dead.map(answer => answers.interrupt(answer)))
  }
}
