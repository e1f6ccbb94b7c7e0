import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Outcome, runBunTest, summary } from './bun-test.ts'
import { temporaryFolder } from './temporary-folder.ts'

const SOME_OF_EACH = `
import { describe, test } from 'bun:test'
test('one', () => {})
test('two', () => { throw new Error('wrong') })
test.skip('three <3>', () => {})
describe('of "these"', () => {
  describe('inside', () => { test.skipIf(true)('four', () => {}) })
  test.todo('five')
  test('six', () => {})
})
describe.skip('none of these', () => { test('seven', () => {}) })
`

test('a skipped test counts neither as passed nor as failed, and is named with its file', async () => {
  const outcome = await outcomeOf(SOME_OF_EACH)
  expect(outcome).toMatchObject({ passed: 2, failed: 1 })
  expect(summary(outcome).split('\n')).toEqual([
    'skipped:',
    expect.stringMatching(/^ {2}\S.*some\.test\.ts: three <3>$/),
    expect.stringMatching(/^ {2}\S.*some\.test\.ts: of "these" › inside › four$/),
    expect.stringMatching(/^ {2}\S.*some\.test\.ts: of "these" › five$/),
    expect.stringMatching(/^ {2}\S.*some\.test\.ts: none of these › seven$/),
    '2 passed, 1 failed, 4 skipped',
  ])
})

test('without skipped tests, only the counts are printed', async () => {
  expect(summary(await outcomeOf("import { test } from 'bun:test'\ntest('one', () => {})"))).toBe('1 passed, 0 failed')
})

test('a run that breaks off has failed, however many tests passed before', async () => {
  const outcome = await outcomeOf(
    "import { test } from 'bun:test'\ntest('one', () => {})\ntest('two', () => process.kill(process.pid, 'SIGKILL'))",
  )
  expect(outcome.failed).toBeGreaterThan(0)
})

async function outcomeOf(source: string): Promise<Outcome> {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'some.test.ts'), source)
  return await runBunTest([join(folder.path, 'some.test.ts')], { output: 'ignore' })
}
