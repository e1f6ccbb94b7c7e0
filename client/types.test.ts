import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn } from 'bun'
import openapiTS, { astToString } from 'openapi-typescript'
import { onOneEngine } from '../test/harness/contract.ts'
import { temporaryFolder } from '../test/harness/temporary-folder.ts'

/** Generating and compiling takes long on a busy machine. */
const COMPILE_TIMEOUT_MS = 120_000

setDefaultTimeout(COMPILE_TIMEOUT_MS)

const PROJECT = resolve(import.meta.dir, '..')
const COMPILER = join(PROJECT, 'node_modules/typescript-native/bin/tsc')
const TYPED = join(import.meta.dir, 'typed')

onOneEngine("the client's types", api => {
  const folder = temporaryFolder()
  beforeAll(async () => {
    for (const name of ['specified', 'strict']) {
      const description = new URL(`${api.address()}/openapi${name === 'strict' ? '.strict' : ''}.json`)
      // A body may leave out fields with a default.
      const types = await openapiTS(description, { defaultNonNullable: false })
      writeFileSync(join(folder.path, `${name}.ts`), astToString(types))
    }
  }, COMPILE_TIMEOUT_MS)
  afterAll(() => folder[Symbol.dispose]())

  test('the types of the client are those of /openapi.json and /openapi.strict.json, and ask for nothing else', async () => {
    expect(await compile()).toBe('')
  })

  test('the comparison of the types finds a member that is missing', async () => {
    const strict = join(folder.path, 'strict.ts')
    const before = await Bun.file(strict).text()
    try {
      writeFileSync(strict, before.replace(/(\n +Product: \{)/, '$1 colour: string;'))
      expect(await compile()).toContain('error TS2344')
    } finally {
      writeFileSync(strict, before)
    }
  })

  /** Compiles the comparison as if the generated types were in its own folder; returns the compiler's complaints. */
  async function compile(): Promise<string> {
    const settings = join(folder.path, 'tsconfig.json')
    const compilerOptions = { rootDirs: [TYPED, folder.path], types: [] }
    const project = {
      extends: join(PROJECT, 'tsconfig.json'),
      compilerOptions,
      files: [join(TYPED, 'described.ts')],
      include: [],
    }
    writeFileSync(settings, JSON.stringify(project))
    const child = spawn([COMPILER, '--singleThreaded', '--project', settings, '--pretty', 'false'], {
      stdout: 'pipe',
      cwd: PROJECT,
    })
    return child.stdout.text()
  }
})
