import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { run } from '../harness/service.ts'

const OPERATIONS = readFileSync(resolve(import.meta.dir, '../../docs/operations.md'), 'utf8')
const README = readFileSync(resolve(import.meta.dir, '../../README.md'), 'utf8')

test('the operations page shows what --help of each command prints', async () => {
  const shown = [...OPERATIONS.matchAll(/```text (\w+) --help\n(.*?)```/gs)].map(([, command = '', text]) => ({
    command,
    text,
  }))
  const { output } = await run(['--help'])
  const commands = [...output.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name)
  expect(shown.map(({ command }) => command)).toEqual(commands.filter(name => name !== undefined))
  for (const { command, text } of shown) expect((await run([command, '--help'])).output, command).toBe(text ?? '')
})

test("the README's table of settings has each variable of the service with its flag and default", async () => {
  const { output } = await run(['serve', '--help'])
  const settings = [...output.matchAll(/^ {2}(--[\w-]+) .*\((?:default (\S+); )?variable (\w+)\)$/gm)]
  expect(settings.length).toBeGreaterThan(5)
  for (const [, flag, fallback, variable] of settings) {
    const row = README.split('\n').find(line => line.startsWith(`| \`${variable}\``)) ?? `no row for ${variable}`
    expect(row).toContain(`\`${flag}\``)
    expect(row).toContain(fallback ? `\`${fallback}\`` : 'none')
  }
})
