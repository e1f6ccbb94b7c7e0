import { expect, test } from 'bun:test'
import { run } from '../service.ts'

test('the program tells of its commands when asked for help', async () => {
  const { status, output, errors } = await run(['--help'])
  expect(status).toBe(0)
  expect(errors).toBe('')
  for (const command of ['serve', 'seed', 'backup']) expect(output).toContain(command)
})
