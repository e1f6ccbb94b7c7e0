import type { Ending, HeartbeatReply, StoredAnswer } from './repository.ts'

interface StateRow {
  readonly state: 'waiting' | 'running' | Ending['state']
  readonly failure: string | null
}

export interface AnswerRow extends StateRow {
  readonly text: string
}

export interface HeartbeatRow extends StateRow {
  readonly stop_asked: boolean | 0 | 1
  readonly heard: string
}

export function storedAnswer(row: AnswerRow): StoredAnswer {
  return { text: row.text, ending: endingOf(row), isWaiting: row.state === 'waiting' }
}

export function heartbeatReply(row: HeartbeatRow): HeartbeatReply {
  return { ending: endingOf(row), stopRequested: Boolean(row.stop_asked), heard: row.heard }
}

/** The value of the column `failure`. */
export function storedFailure(ending: Ending): string | null {
  return ending.state === 'failed' ? ending.reason : null
}

function endingOf({ state, failure }: StateRow): Ending | null {
  if (state === 'waiting' || state === 'running') return null
  return state === 'failed' ? { state, reason: failure ?? '' } : { state }
}
