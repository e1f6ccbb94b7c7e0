import { type Family, gauge } from '../metrics/family.ts'
import type { AnswersFigures } from './answers/answers.ts'

/** Metrics that only the chat has. */
export function chatFamilies({ running, waiting, followed, listeners }: AnswersFigures): Family[] {
  return [
    gauge('stockroom_chat_answers_running', 'Answers that this process gets from the model.', running),
    gauge('stockroom_chat_answers_waiting', 'Answers that wait for a place at the model.', waiting),
    gauge('stockroom_chat_answers_followed', 'Answers of other processes that somebody listens to here.', followed),
    gauge('stockroom_chat_listeners', 'Listeners of answers in progress.', listeners),
  ]
}
