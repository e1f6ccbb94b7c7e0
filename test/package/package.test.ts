import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Glob, spawnSync } from 'bun'
import { z } from 'zod'
import lock from '../../npm-shrinkwrap.json'
import { run, type Surroundings, startServer } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')
const NODE = Bun.which('node') ?? 'node'

const Packed = z.tuple([z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) })])

const open = new AsyncDisposableStack()
let packed: string[] = []
let installed: Surroundings = {}

/** The package as npm installs it: beside its dependencies, behind a link, with only Node on the path. */
beforeAll(() => {
  const folder = open.use(temporaryFolder()).path
  const { stdout } = spawnSync(['npm', 'pack', '--json', '--pack-destination', folder], {
    cwd: ROOT,
    // Its own is in the user's home, which the user may not have, or not be able to write.
    env: { ...process.env, npm_config_cache: join(folder, 'cache') },
    stderr: 'inherit',
  })
  const [{ filename, files }] = Packed.parse(JSON.parse(stdout.toString()))
  packed = files.map(({ path }) => path)
  const modules = join(folder, 'store', 'node_modules')
  linkDependencies(modules)
  mkdirSync(join(modules, 'stockroom'))
  spawnSync(['tar', '-xzf', join(folder, filename), '--strip-components=1', '-C', join(modules, 'stockroom')])
  const path = join(folder, 'bin')
  mkdirSync(path)
  symlinkSync(NODE, join(path, 'node'))
  symlinkSync(join(modules, 'stockroom/bin/stockroom.js'), join(path, 'stockroom'))
  installed = { program: [join(path, 'stockroom')], folder, environment: { PATH: path } }
})
afterAll(() => open.disposeAsync())

test('the package holds the source and the client with their documents, and no tests', () => {
  const source = [...new Glob('src/**').scanSync({ cwd: ROOT })].filter(path => !path.endsWith('.test.ts'))
  const documents = [...new Glob('docs/**').scanSync({ cwd: ROOT })]
  const client = [...new Glob('client/*.{js,d.ts}').scanSync({ cwd: ROOT })]
  const beside = ['bin/stockroom.js', 'bin/empty.toml', 'package.json', 'npm-shrinkwrap.json', 'tsconfig.json']
  const read = ['README.md', 'client/README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE']
  expect(packed.toSorted()).toEqual([...source, ...client, ...documents, ...beside, ...read].toSorted())
})

test('the installed package gives the client to programs that run in Node', async () => {
  const script = `
    const { createClient, NotFound } = await import('stockroom/client')
    console.log(typeof createClient, new NotFound({ request: 'GET /', detail: 'Product not found' }).resource)
  `
  const program = [NODE, '--input-type=module', '--eval', script]
  const folder = join(installed.folder ?? '', 'store')
  expect(await run([], { ...installed, program, folder })).toEqual({
    status: 0,
    output: 'function Product\n',
    errors: '',
  })
})

test('the package carries the versions of all its dependencies that were tested, and names no registry', () => {
  const carried = readFileSync(join(installed.folder ?? '', 'store/node_modules/stockroom/npm-shrinkwrap.json'), 'utf8')
  expect(carried).not.toContain('"resolved"')
  const { packages } = z
    .object({ packages: z.record(z.string(), z.object({ version: z.string() })) })
    .parse(JSON.parse(carried))
  expect(Object.keys(packages)).toEqual(Object.keys(lock.packages))
  for (const [path, { version }] of Object.entries(packages)) {
    const file = join(ROOT, path, 'package.json')
    // Packages for other platforms are not installed.
    if (existsSync(file)) expect(JSON.parse(readFileSync(file, 'utf8')).version, path).toBe(version)
  }
})

test('the lock file has the packages of all platforms, without which npm ci refuses it', () => {
  const locked = new Set(Object.keys(lock.packages))
  const missing = Object.entries(lock.packages).flatMap(([path, description]) => {
    const names = 'optionalDependencies' in description ? Object.keys(description.optionalDependencies) : []
    return names.filter(name => !foldersAbove(path).some(folder => locked.has(`${folder}node_modules/${name}`)))
  })
  expect(missing).toEqual([])
})

test('the package may be published', () => {
  expect(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))).not.toHaveProperty('private')
})

test('the installed package prints its version and its commands, with no program but Node on the path', async () => {
  for (const argv of [['--version'], ['--help'], ['serve', '--help']]) {
    expect(await run(argv, installed)).toEqual(await run(argv))
  }
})

test('the installed package serves the catalog with its pages, and fills it', async () => {
  await using server = await startServer(['serve', '--host', '127.0.0.1', '--port', '0'], installed)
  expect(await run(['seed', '--products', '7'], installed)).toMatchObject({ status: 0 })
  const products = z.array(z.unknown()).parse(await (await fetch(`${server.address}/products/`)).json())
  expect(products).toHaveLength(7)
  await expectWholePage(`${server.address}/docs`)
  expect(await server.stop()).toBe(0)
})

test('the installed package serves the pages of both stream apps', async () => {
  for (const command of ['breeds', 'chat']) {
    await using server = await startServer([command, '--host', '127.0.0.1', '--port', '0'], installed)
    await expectWholePage(server.address)
  }
})

test('if the install script of Bun may not run, the launcher finds Bun all the same', async () => {
  using store = storeWithout('bun', '@oven')
  const bun = join(store.modules, 'bun')
  mkdirSync(join(bun, 'bin'), { recursive: true })
  cpSync(join(ROOT, 'node_modules/bun/package.json'), join(bun, 'package.json'))
  writeFileSync(join(bun, 'bin/bun.exe'), 'echo "the placeholder was run" >&2; exit 1\n', { mode: 0o755 })
  const { optionalDependencies } = z
    .object({ optionalDependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(bun, 'package.json'), 'utf8')))
  for (const name of Object.keys(optionalDependencies)) {
    const executable = join(store.modules, name, 'bin', 'bun')
    mkdirSync(dirname(executable), { recursive: true })
    writeFileSync(join(store.modules, name, 'package.json'), '{}')
    if (name.includes(process.arch === 'arm64' ? 'aarch64' : process.arch)) symlinkSync(process.execPath, executable)
  }
  expect(await run(['--version'], store.surroundings)).toEqual(await run(['--version']))
})

test('if there is no Bun for the machine, the launcher says so in one line, and what to do', async () => {
  using store = storeWithout('bun')
  const { status, output, errors } = await run(['serve'], store.surroundings)
  expect({ status, output }).toEqual({ status: 1, output: '' })
  expect(errors).toMatch(/^stockroom: Bun for .* is not installed; .*npm install.*\n$/)
})

/** The folders in which Node looks for dependencies: the package's own, and each folder that contains it. */
function foldersAbove(path: string): string[] {
  if (path === '') return ['']
  return [`${path}/`, ...foldersAbove(path.slice(0, path.lastIndexOf('node_modules/')).replace(/\/$/, ''))]
}

/** Links the package's dependencies without the development dependencies, as a user gets them, but for some. */
function linkDependencies(modules: string, missing: readonly string[] = []): void {
  for (const [path, description] of Object.entries(lock.packages)) {
    const name = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1]
    if (name === undefined || missing.some(each => name === each || name.startsWith(`${each}/`))) continue
    if ('dev' in description || !existsSync(join(ROOT, path))) continue
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, path), join(modules, name))
  }
}

/** Another installation without some dependencies. */
function storeWithout(...names: readonly string[]) {
  const folder = temporaryFolder()
  const modules = join(folder.path, 'node_modules')
  const own = join(modules, 'stockroom')
  linkDependencies(modules, names)
  cpSync(join(installed.folder ?? '', 'store/node_modules/stockroom'), own, { recursive: true })
  return {
    modules,
    surroundings: { ...installed, program: [NODE, join(own, 'bin/stockroom.js')] },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** Expects a page and everything that it loads. */
async function expectWholePage(address: string): Promise<void> {
  const page = await fetch(address)
  expect(page.status).toBe(200)
  const parts = [...(await page.text()).matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|svg)[^"]*)"/g)]
  expect(parts.length).toBeGreaterThan(1)
  for (const [, path = ''] of parts) expect((await fetch(new URL(path, address))).status, path).toBe(200)
}
