import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawn } from 'bun'
import openapiTS, { astToString } from 'openapi-typescript'
import { startKeyedShop } from '../harness/catalog/keyed-shop.ts'
import type { Client } from '../harness/client.ts'
import { onEachEngine, onOneEngine } from '../harness/contract.ts'
import { sqlite } from '../harness/engines.ts'
import { type TemporaryFolder, temporaryFolder } from '../harness/temporary-folder.ts'

const PROJECT = resolve(import.meta.dir, '../..')
const COMPILER = join(PROJECT, 'node_modules/typescript-native/bin/tsc')
const SESSION = fileURLToPath(import.meta.resolve('./storefront/session.ts'))
const MISUSE = fileURLToPath(import.meta.resolve('./storefront/misuse.ts'))

/** Generating, compiling and running takes long on a busy machine. */
const COMPILE_TIMEOUT_MS = 120_000

setDefaultTimeout(COMPILE_TIMEOUT_MS)

/** A customer's visit. */
const WHOLE_VISIT = {
  categories: ['Garden: Spade, Rake, Watering can', 'Kitchen: Kettle'],
  shelf: ['Spade 9.50 USD', 'Rake 10.50 USD', 'Watering can 11.50 USD'],
  pages: [
    ['Spade', 'Rake'],
    ['Watering can', 'Kettle'],
  ],
  customer: { name: 'Ada Byron', password: '**********', is_active: 1 },
  review: { rating: 4, by: 'Ada Byron', of: 'Spade' },
  reviewsOfProduct: ['Digs well'],
  reviewsByCustomer: ['Digs well'],
  changedReview: { rating: 5, comment: 'Digs very well' },
  refusal: [['body.rating', 'Input should be less than or equal to 5']],
  missing: 'Product not found',
  removed: { name: 'Ada Byron', reviews: 1 },
  reviewAfterwards: 'Review not found',
}

onOneEngine('the typed client that is generated from /openapi.json', api => {
  let types: TemporaryFolder
  beforeAll(async () => {
    types = temporaryFolder()
    writeFileSync(join(types.path, 'store-api.ts'), await generatedTypes(api))
  }, COMPILE_TIMEOUT_MS)
  afterAll(() => types[Symbol.dispose]())

  test('the client generated from /openapi.json compiles under strict types', async () => {
    expect(await compile(SESSION, types.path)).toEqual({ status: 0, output: '' })
  })

  test('the client generated from /openapi.json does not compile if it uses what the interface lacks, and only there', async () => {
    const { status, output } = await compile(MISUSE, types.path)
    expect(status).not.toBe(0)
    const refused = [...output.matchAll(/misuse\.ts\((\d+),\d+\): error/g)].map(([, line]) => Number(line))
    const marked = readFileSync(MISUSE, 'utf8')
      .split('\n')
      .flatMap((line, index) => (line.includes('// refused: ') ? [index + 1] : []))
    expect([...new Set(refused)], output).toEqual(marked)
    expect(
      output
        .trim()
        .split('\n')
        .filter(line => !/^\s/.test(line) && !line.includes('misuse.ts(')),
    ).toEqual([])
  })
})

onEachEngine('a storefront on the typed client that is generated from /openapi.json', api => {
  test('the client generated from /openapi.json serves a customer from a first look at the shelves to deleting the account', async () => {
    const { status, output, errors } = await run([process.execPath, SESSION, api.address()])
    expect({ status, errors }).toEqual({ status: 0, errors: '' })
    expect(JSON.parse(output)).toEqual(WHOLE_VISIT)
  })
})

test('with access keys, the client that is generated from /openapi.json does the same with a key', async () => {
  await using shop = await startKeyedShop(sqlite)
  using types = temporaryFolder()
  writeFileSync(join(types.path, 'store-api.ts'), await generatedTypes(shop.api.without))
  expect(await compile(SESSION, types.path)).toEqual({ status: 0, output: '' })
  const visit = (...key: string[]) => run([process.execPath, SESSION, shop.service.address, ...key])
  expect((await visit()).errors).toContain('/categories/ answered 401')
  expect((await visit(shop.keys.read)).errors).toContain('/categories/ answered 403')
  const { status, output, errors } = await visit(shop.keys.admin)
  expect({ status, errors }).toEqual({ status: 0, errors: '' })
  expect(JSON.parse(output)).toEqual(WHOLE_VISIT)
})

/** Tells the generator that a body may leave out fields with a default. */
async function generatedTypes(api: Client): Promise<string> {
  return astToString(await openapiTS(new URL(`${api.address()}/openapi.json`), { defaultNonNullable: false }))
}

/** Compiles one file of the storefront as if the generated types were in its own folder. */
async function compile(file: string, types: string): Promise<{ status: number; output: string }> {
  const settings = join(types, 'tsconfig.json')
  writeFileSync(
    settings,
    JSON.stringify({
      extends: join(PROJECT, 'tsconfig.json'),
      compilerOptions: { rootDirs: [dirname(file), types], typeRoots: [join(PROJECT, 'node_modules/@types')] },
      files: [file],
      include: [],
    }),
  )
  const { status, output } = await run([COMPILER, '--singleThreaded', '--project', settings, '--pretty', 'false'])
  return { status, output }
}

async function run(command: string[]): Promise<{ status: number; output: string; errors: string }> {
  const child = spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', cwd: PROJECT })
  const [output, errors, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { status, output, errors }
}
