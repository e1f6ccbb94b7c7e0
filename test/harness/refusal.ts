import { expect } from 'bun:test'
import type { Run } from './service.ts'

/** Expects that the program did nothing but tell its operator the reason, in one line. */
export function expectRefusal(refused: Run, { status, reason }: { status: 1 | 2; reason: RegExp }, row = ''): void {
  const { errors } = refused
  expect({ row, ...refused }).toEqual({ row, status, output: '', errors: expect.stringMatching(/^stockroom: .+\n$/) })
  expect(errors.trimEnd().split(/[\r\n]/), `one line: ${row}`).toHaveLength(1)
  expect(errors, row).toMatch(reason)
}
