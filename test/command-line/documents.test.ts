import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Glob } from 'bun'
import { run } from '../harness/service.ts'

const ROOT = resolve(import.meta.dir, '../..')
const OPERATIONS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

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

/** Variables that the runtime and the packages read. */
const OF_THE_RUNTIME = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_EXPORTER_OTLP_TIMEOUT',
  'OTEL_RESOURCE_ATTRIBUTES',
]

test('each constant and variable that a guide names is in the source', () => {
  const guides = [...new Glob('{docs,src}/**/*.md').scanSync(ROOT)].map(file => readFileSync(join(ROOT, file), 'utf8'))
  const named = new Set(guides.flatMap(guide => guide.match(/(?<=`)[A-Z]+(_[A-Z0-9]+)+(?=`)/g) ?? []))
  const source = [...new Glob('src/**/*.{ts,tsx}').scanSync(ROOT)]
    .filter(file => !file.endsWith('.test.ts'))
    .map(file => readFileSync(join(ROOT, file), 'utf8'))
    .join()
  expect(named.size).toBeGreaterThan(50)
  expect([...named].filter(name => !new RegExp(`\\b${name}\\b`).test(source)).toSorted()).toEqual(OF_THE_RUNTIME)
})

test('the threat model names constants that are in the files it names, and tests that exist', () => {
  const model = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
  const bounds = [...model.matchAll(/\| `([A-Z_]+)` +\| `(\S+\.ts)` +\|$/gm)]
  expect(bounds.length).toBeGreaterThan(15)
  for (const [, constant = '', file = ''] of bounds) {
    expect(readFileSync(join(ROOT, 'src', file), 'utf8'), file).toContain(`const ${constant} =`)
  }
  const tests = [...model.matchAll(/`((?:src|test)\/\S+)`/g)].map(([, path = '']) => path)
  expect(tests.length).toBeGreaterThan(15)
  for (const path of tests) expect(existsSync(join(ROOT, path)), path).toBe(true)
})
