import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { run } from './harness/service.ts'

test('a wrong option of the campaigns or the fuzzer is refused in one line with the usage', async () => {
  for (const [file, wrong, reason] of [
    ['torture.ts', ['--port', '99999'], /^Unknown option '--port'; usage: npm run torture/],
    ['torture.ts', ['--minutes'], /^Option '--minutes <value>' argument missing; usage: /],
    ['torture.ts', ['--minutes', 'Infinity'], /^--minutes: Infinity is no length of time; usage: /],
    ['torture.ts', ['nothing-like-this'], /^no campaign is in a file named like nothing-like-this; usage: /],
    ['fuzz/run.ts', ['--host', '::g'], /^Unknown option '--host'; usage: npm run fuzz/],
    ['fuzz/run.ts', ['--requests', '-1'], /^--requests: a value is required; .*; usage: /],
    ['fuzz/run.ts', ['--engine', 'mysql'], /^--engine: "mysql" is no engine; usage: /],
  ] as const) {
    const { status, output, errors } = await runScript(file, wrong)
    expect({ wrong, status, output }).toEqual({ wrong, status: 2, output: '' })
    expect(errors).toMatch(reason)
    expect(errors.trimEnd().split('\n')).toHaveLength(1)
  }
})

test('the campaigns and the fuzzer print their usage', async () => {
  for (const file of ['torture.ts', 'fuzz/run.ts']) {
    expect(await runScript(file, ['--help'])).toEqual({
      ...{ status: 0, errors: '' },
      output: expect.stringMatching(/^usage: npm run (torture|fuzz) -- .*\n$/),
    })
  }
})

function runScript(file: string, flags: readonly string[]) {
  return run(flags, { program: [process.execPath, join(import.meta.dir, file)] })
}
