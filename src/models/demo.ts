import { type Clock, pause } from '../clock.ts'
import type { ChatModel, Question } from './chat-model.ts'
import text from './demo-answer.md' with { type: 'text' }
import { UsageMeter } from './usage.ts'

/** About the speed of a fast model. */
const PIECE_EVERY_MS = 20

/** A word with the spaces after it, or spaces alone: about the size of a token. */
const PIECE = /\S*\s+|\S+/g

/**
 * The offline demo model: it writes a fixed answer, which introduces it, shows a list and a table, and explains in code how to
 * use a real model.
 */
export function demoModel(clock: Clock): ChatModel {
  return { name: 'demo', answer: question => answer(question, clock) }
}

async function* answer(question: Question, clock: Clock): AsyncGenerator<string, void, undefined> {
  const { signal, onUsage } = question
  const meter = new UsageMeter(question)
  try {
    for (const piece of text.trim().match(PIECE) ?? []) {
      await pause(clock, PIECE_EVERY_MS, signal)
      if (signal.aborted) return
      meter.add(piece)
      yield piece
    }
  } finally {
    onUsage?.(meter.usage)
  }
}
