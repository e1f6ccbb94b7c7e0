import { expect, test } from 'bun:test'
import { setImmediate as turn } from 'node:timers/promises'
import { writeTrial } from './write-trial.ts'

test('after a write that failed during a trial, there is another trial, and one that failed is not repeated at once', async () => {
  const outcomes: PromiseWithResolvers<void>[] = []
  const writeSucceeds = writeTrial(() => {
    const outcome = Promise.withResolvers<void>()
    outcomes.push(outcome)
    return outcome.promise
  })
  const first = writeSucceeds(Number.NEGATIVE_INFINITY)
  await turn()
  const failedAt = performance.now()
  outcomes[0]?.resolve()
  await first
  const second = writeSucceeds(failedAt)
  outcomes[1]?.reject(new Error('the disk is full'))
  await expect(second).rejects.toThrow('the disk is full')
  await expect(writeSucceeds(failedAt)).rejects.toThrow('the disk is full')
  expect(outcomes).toHaveLength(2)
})
