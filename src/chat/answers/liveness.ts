import type { AnswerRepository, StoredAnswer } from './repository.ts'

/** How often a process that asks the model says that it is alive, while nothing comes. */
export const ALIVE_MS = 2_000

/** A process that was silent for so long is dead. More than the 10 s that a write may wait for another process's. */
const DEAD_AFTER_MS = 15_000

/** Ends as interrupted what dead processes have left under way. */
export function interruptDead(answers: AnswerRepository): Promise<void> {
  return answers.interruptDead(Date.now() - DEAD_AFTER_MS)
}

/** As `answers.find`, but an answer that is under way has somebody who works on it. */
export async function findAlive(answers: AnswerRepository, reqId: string): Promise<StoredAnswer | null> {
  const stored = await answers.find(reqId)
  if (stored === null || stored.ending || stored.aliveAt >= Date.now() - DEAD_AFTER_MS) return stored
  await interruptDead(answers)
  return answers.find(reqId)
}
