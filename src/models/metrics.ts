import { counter, type Family, gauge, histogram } from '../metrics/family.ts'
import { Histogram, SECONDS } from '../metrics/histogram.ts'
import { AnswerError, type ChatModel, type Question, type Usage } from './chat-model.ts'

/** Answers take longer than requests. */
const ANSWER_SECONDS = [...SECONDS, 30, 60, 120, 300]

/** A chat model that counts its answers. */
export class CountedModel implements ChatModel {
  readonly name: string
  readonly #model: ChatModel
  /** By how they ended. */
  readonly #answers = new Map<string, number>()
  readonly #firstPieceSeconds = new Histogram(ANSWER_SECONDS)
  readonly #seconds = new Histogram(ANSWER_SECONDS)
  readonly #tokens = { input: 0, output: 0 }
  #inProgress = 0

  constructor(model: ChatModel) {
    this.name = model.name
    this.#model = model
  }

  async *answer(question: Question): AsyncGenerator<string, void, undefined> {
    const started = performance.now()
    const seconds = () => (performance.now() - started) / 1_000
    const onUsage = (usage: Usage) => {
      this.#tokens.input += usage.inputTokens
      this.#tokens.output += usage.outputTokens
      question.onUsage?.(usage)
    }
    let isFirst = true
    // If the generator is left early.
    let outcome = 'stopped'
    this.#inProgress += 1
    try {
      for await (const piece of this.#model.answer({ ...question, onUsage })) {
        if (isFirst) this.#firstPieceSeconds.observe(seconds())
        isFirst = false
        yield piece
      }
      if (!question.signal.aborted) outcome = 'finished'
    } catch (error) {
      outcome = error instanceof AnswerError ? error.failure.replaceAll(' ', '_') : 'failed'
      throw error
    } finally {
      this.#inProgress -= 1
      this.#seconds.observe(seconds())
      this.#answers.set(outcome, (this.#answers.get(outcome) ?? 0) + 1)
    }
  }

  families(): Family[] {
    // As in CHAT_MODEL: `openai:gpt-5-mini`, or `demo`.
    const [provider = '', ...rest] = this.name.split(':')
    const labels = { provider, model: rest.join(':') || provider }
    return [
      gauge('stockroom_model_answers_in_progress', 'Answers that the model is writing.', [
        { labels, value: this.#inProgress },
      ]),
      counter(
        'stockroom_model_answers_total',
        'Answers of the model, by how they ended: finished, stopped, or why they failed.',
        [...this.#answers].map(([outcome, value]) => ({ labels: { ...labels, outcome }, value })),
      ),
      counter(
        'stockroom_model_tokens_total',
        'Tokens of questions (input) and of answers and reasoning (output), estimated if the model does not report them.',
        [
          { labels: { ...labels, direction: 'input' }, value: this.#tokens.input },
          { labels: { ...labels, direction: 'output' }, value: this.#tokens.output },
        ],
      ),
      histogram('stockroom_model_first_piece_duration_seconds', 'Time until the first piece of an answer.', [
        { labels, value: this.#firstPieceSeconds },
      ]),
      histogram('stockroom_model_answer_duration_seconds', 'Time until the end of an answer.', [
        { labels, value: this.#seconds },
      ]),
    ]
  }
}
