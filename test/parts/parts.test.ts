import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Glob, spawn } from 'bun'
import { EXECUTABLE_VARIABLE } from '../harness/executable.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

/** Keeps a promise of `docs/architecture.md`: to delete a part, delete its folder and its entry in `cli.ts`. */

setDefaultTimeout(600_000)

const PROJECT = resolve(import.meta.dir, '../..')

const COPIED = ['client', 'src', 'test', 'package.json', 'tsconfig.json', 'LICENSE', 'README.md']

/** One quick test file of each part, which needs neither a browser nor a PostgreSQL server of its own. */
const TESTS: Readonly<Record<Part, string>> = {
  catalog: 'src/catalog/categories/categories.test.ts',
  demo: 'src/demo/goods.test.ts',
  breeds: 'src/breeds/list-service.test.ts',
  chat: 'src/chat/page.test.ts',
  talk: 'src/talk/readme.test.ts',
}

/** One engine is enough here, as a part's folder holds its code for both. */
const ON_SQLITE = '^((?!on PostgreSQL|without a cache|on each engine).)*$'

type Part = 'catalog' | 'demo' | 'breeds' | 'chat' | 'talk'

// Two at once: as no part imports another one, which `test/structure` shows, none can need one of the deleted two.
describe('without the demo and the chat', () => {
  const project = without('demo', 'chat')

  test('the program builds', () => expectProgram(project(), ['demo', 'chat']))

  test('the tests of the other parts pass', () => expectTests(project(), ['catalog', 'breeds', 'talk']))
})

describe('without the breeds and the terminal chat', () => {
  const project = without('breeds', 'talk')

  test('the program builds', () => expectProgram(project(), ['breeds', 'talk']))

  test('the program has no trace of the breeds', () => {
    const files = [...new Glob('src/**/*.{ts,tsx,js,css,sql}').scanSync(project())]
    const source = files.filter(file => !file.endsWith('.test.ts'))
    expect(source.filter(file => /breed/i.test(readFileSync(join(project(), file), 'utf8')))).toEqual([])
  })

  test('the tests of the other parts pass', () => expectTests(project(), ['catalog', 'demo', 'chat']))
})

/** The folder of a copy of the project in which the folders of parts and their entries in `cli.ts` are deleted. */
function without(...parts: readonly Part[]): () => string {
  const open = new DisposableStack()
  let path = ''
  beforeAll(() => {
    path = open.use(temporaryFolder()).path
    for (const name of COPIED) cpSync(join(PROJECT, name), join(path, name), { recursive: true })
    symlinkSync(join(PROJECT, 'node_modules'), join(path, 'node_modules'))
    for (const part of parts) deletePart(path, part)
  })
  afterAll(() => open.dispose())
  return () => path
}

function deletePart(folder: string, part: Part): void {
  rmSync(join(folder, 'src', part), { recursive: true })
  const program = join(folder, 'src/cli.ts')
  const text = readFileSync(program, 'utf8')
  const shorter = text
    .replace(`import { ${part} } from './${part}/part.ts'\n`, '')
    .replace(/(?<=const PARTS: readonly Part\[\] = \[)[^\]]*/, parts =>
      parts
        .split(', ')
        .filter(name => name !== part)
        .join(', '),
    )
  expect(text.length - shorter.length).toBeGreaterThan(part.length * 3)
  // No part imports another one, so this is all that could be an error of type.
  expect(shorter).not.toMatch(new RegExp(`\\b${part}\\b`))
  writeFileSync(program, shorter)
}

async function expectProgram(folder: string, deleted: readonly Part[]): Promise<void> {
  await expectSuccess(folder, [process.execPath, 'build', '--target=bun', '--outfile=dist/stockroom.js', 'src/cli.ts'])
  const help = await expectSuccess(folder, [process.execPath, 'dist/stockroom.js', '--help'])
  expect(help).toContain('serve')
  for (const part of deleted) expect(help).not.toMatch(new RegExp(`^  ${part} `, 'm'))
}

async function expectTests(folder: string, parts: readonly Part[]): Promise<void> {
  const paths = parts.map(part => `./${TESTS[part]}`)
  const pattern = `--test-name-pattern=${ON_SQLITE}`
  await expectSuccess(folder, [process.execPath, 'test', '--timeout=120000', pattern, ...paths])
}

async function expectSuccess(folder: string, command: readonly string[]): Promise<string> {
  // The executable of this run has all parts.
  const { [EXECUTABLE_VARIABLE]: _, ...env } = process.env
  const child = spawn([...command], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  expect({ status: child.exitCode, errors }, command.join(' ')).toMatchObject({ status: 0 })
  return output
}
