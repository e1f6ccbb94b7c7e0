import { expect } from 'bun:test'
import type { AnswerError, AnswerFailure } from '../../../src/models/chat-model.ts'
import { ask, openModel } from '../model-client.ts'
import { type ModelCall, type Protocol, startModelServer } from './model-server.ts'

/** Expects this failure when the provider refuses every call before the first piece. */
export async function expectRefusal(
  protocol: Protocol,
  refuse: (call: ModelCall) => Promise<void>,
  expected: AnswerFailure,
  calls: number,
): Promise<void> {
  await using server = await startModelServer(protocol)
  const answer = ask(await openModel(server.environment))
  for (let call = 0; call < calls; call += 1) await refuse(await server.nextCall())
  const { text, failure } = await answer.end()
  expect(text).toBe('')
  expectReadable(failure, expected)
  expect(server.calls).toHaveLength(calls)
}

export async function expectFailureAmid(
  protocol: Protocol,
  fail: (call: ModelCall) => Promise<void>,
  expected: AnswerFailure,
): Promise<void> {
  await using server = await startModelServer(protocol)
  const answer = ask(await openModel(server.environment))
  const call = await server.nextCall()
  await call.send('So far')
  await answer.piece()
  await fail(call)
  await call.closed
  const { text, failure } = await answer.end()
  expect(text).toBe('So far')
  expectReadable(failure, expected)
  expect(server.calls).toHaveLength(1)
}

function expectReadable(failure: AnswerError | null, expected: AnswerFailure): void {
  expect(failure?.failure).toBe(expected)
  expect(failure?.message).toMatch(/^(The model server|OpenAI|Anthropic|Google) .{10,120}\.$/)
  expect(failure?.message).not.toMatch(/status (?!\d{3}\))/)
}
