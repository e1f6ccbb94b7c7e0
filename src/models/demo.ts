import { type Clock, pause } from '../clock.ts'
import type { ChatModel, Question } from './chat-model.ts'
import text from './demo-answer.md' with { type: 'text' }
import { UsageMeter } from './usage.ts'

/** About the speed of a fast model. */
const PIECE_EVERY_MS = 20

/** A word with the spaces after it, or spaces alone: about the size of a token. */
const PIECE = /\S*\s+|\S+/g

/** The file's sections, which are separated by thematic breaks. */
const [BEGINNING, LIST, CODE, TABLE, END] = text.trim().split('\n\n---\n\n')

/** The offline demo model: it writes a fixed answer. */
export function demoModel(clock: Clock): ChatModel {
  return { name: 'demo', answer: question => answer(question, clock) }
}

async function* answer(question: Question, clock: Clock): AsyncGenerator<string, void, undefined> {
  const { prompt, signal, onUsage } = question
  const meter = new UsageMeter(question)
  try {
    for (const piece of demoAnswer(prompt).match(PIECE) ?? []) {
      await pause(clock, PIECE_EVERY_MS, signal)
      if (signal.aborted) return
      meter.add(piece)
      yield piece
    }
  } finally {
    onUsage?.(meter.usage)
  }
}

/**
 * The demo model introduces itself, shows a list and a table, and explains in code how to use a real model. A question that
 * mentions a table or code gets that first. The answer repeats no text of the question.
 */
function demoAnswer(prompt: string): string {
  // The text may begin with earlier messages. The current question is the last paragraph.
  const asked =
    prompt
      .trim()
      .split(/\n\s*\n/)
      .at(-1)
      ?.toLowerCase() ?? ''
  return sectionsFor(asked).join('\n\n')
}

function sectionsFor(asked: string) {
  if (/\btables?\b/.test(asked)) return [BEGINNING, 'You wrote "table", so here is one first.', TABLE, CODE, LIST, END]
  if (/\bcode\b/.test(asked)) return [BEGINNING, 'You wrote "code", so here is some first.', CODE, LIST, TABLE, END]
  return [BEGINNING, LIST, CODE, TABLE, END]
}
