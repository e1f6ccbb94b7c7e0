import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Glob, Transpiler } from 'bun'

/** The rules of `docs/architecture.md` about who imports whom. */

const SOURCE = resolve(import.meta.dir, '../../src')

const PARTS = ['catalog', 'demo', 'breeds', 'chat', 'talk']

const FILES = [...new Glob('**/*.{ts,tsx}').scanSync(SOURCE)]
  .filter(file => !/\.(test|d)\.tsx?$/.test(file))
  .map(file => ({ file, text: readFileSync(join(SOURCE, file), 'utf8') }))

interface Import {
  readonly from: string
  readonly to: string
}

/** All imports within the source, of types too, as paths below `src/`. */
const IMPORTS: readonly Import[] = FILES.flatMap(({ file, text }) =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path = '']) => ({
    from: file,
    to: join(dirname(file), path),
  })),
)

test('each import of the source leads to a file below src, but for the version of the package', () => {
  expect(IMPORTS.length).toBeGreaterThan(FILES.length)
  const outside = IMPORTS.filter(({ to }) => to.startsWith('..'))
  expect(outside).toEqual([{ from: 'program/version.ts', to: '../package.json' }])
})

test('no room of the source, a folder or a file beside folders, imports itself by way of others, on any level', () => {
  for (const parent of foldersAbove(FILES.map(({ file }) => file))) {
    expect(circlesAmong(importsWithin(parent)), `rooms of src/${parent}`).toEqual([])
  }
})

test('no file of the source imports itself by way of others', () => {
  expect(circlesAmong(IMPORTS)).toEqual([])
})

test('no part imports another part, and only the command line imports parts', () => {
  const partOf = (file: string) => PARTS.find(part => file.startsWith(`${part}/`))
  const entering = IMPORTS.filter(({ from, to }) => partOf(to) !== undefined && partOf(from) !== partOf(to))
  expect(new Set(entering.map(({ from }) => from))).toEqual(new Set(['cli.ts']))
  expect(entering.map(({ to }) => to).toSorted()).toEqual(PARTS.map(part => `${part}/part.ts`).toSorted())
})

test('the demo takes nothing from outside src but the source of the client, and browsers take nothing else', () => {
  const files = [...new Glob('demo/**/*.js').scanSync(SOURCE)]
  const imported = files.flatMap(file =>
    [...readFileSync(join(SOURCE, file), 'utf8').matchAll(/from '([^']+)'/g)].map(([, path = '']) => path),
  )
  const fromClient = imported.filter(path => /^(\.\.\/)+client\/\w+\.js$/.test(path))
  expect(fromClient.length).toBeGreaterThan(6)
  expect(imported.filter(path => !fromClient.includes(path) && !/^\.\/\w+\.js$/.test(path))).toEqual([])
})

test('reading settings and writing logs import nothing of the product', () => {
  const imported = IMPORTS.filter(({ from }) => from === 'program/config.ts' || from === 'program/log.ts').map(
    ({ to }) => to,
  )
  expect(new Set(imported)).toEqual(
    new Set(['program/error-message.ts', 'program/operator-error.ts', 'program/output.ts']),
  )
})

test('only files that are named after an engine, and descriptions of tables, contain SQL of an engine', () => {
  const SQL = /\b(SELECT|INSERT INTO|DELETE FROM|UPDATE \w+ SET|CREATE TABLE|ALTER TABLE|PRAGMA|COPY) [\w'"$(*]/
  const maySpeak = (file: string) =>
    file.startsWith('database/') ||
    /\/(sqlite|postgres|citus)\//.test(file) ||
    /^(sqlite|postgres|citus|tables\.ts)/.test(basename(file))
  const speakers = FILES.filter(({ text }) => SQL.test(withoutComments(text))).map(({ file }) => file)
  expect(speakers.length).toBeGreaterThan(10)
  expect(speakers.filter(file => !maySpeak(file))).toEqual([])
})

test('only the database folder imports the drivers of the engines', () => {
  const drivers = FILES.filter(({ text }) => /from 'bun:sqlite'|import \{[^}]*\bSQL\b[^}]*\} from 'bun'/.test(text))
  expect(drivers.length).toBeGreaterThan(1)
  expect(drivers.map(({ file }) => file).filter(file => !/^database\/(sqlite|postgres)\//.test(file))).toEqual([])
})

test('no command loads a package before it runs', () => {
  expect(packagesLoadedBy('cli.ts')).toEqual([])
})

test('a command starts without the packages that only some of its work needs', () => {
  expect(packagesLoadedBy('catalog/serve.ts')).toEqual(['@hono/zod-openapi', '@logtape/logtape', 'hono'])
  expect(packagesLoadedBy('demo/serve.ts')).toEqual(['@logtape/logtape', 'hono', 'htmx-ext-sse', 'htmx.org'])
  expect(packagesLoadedBy('breeds/serve.ts')).toEqual(['@logtape/logtape', 'hono', 'htmx-ext-sse', 'htmx.org'])
  expect(packagesLoadedBy('talk/talk.ts')).toEqual(['@logtape/logtape', 'markdown-it'])
})

test('a server starts without the modules of the runtime that take long to load', () => {
  const SLOW = /^node:(net|tls|https?|zlib|child_process|worker_threads|readline)$/
  for (const server of ['catalog/serve.ts', 'demo/serve.ts', 'breeds/serve.ts', 'chat/serve.ts']) {
    const { modules } = loadedBy(server)
    expect(modules.size, server).toBeGreaterThan(3)
    expect(
      [...modules].filter(module => SLOW.test(module)),
      server,
    ).toEqual([])
  }
})

test('a service whose pages nobody opens has loaded nothing of them but their routes', () => {
  const loaded = [...loadedBy('catalog/serve.ts').files].filter(file => /^(catalog\/pages|pages|login)\//.test(file))
  expect(loaded.toSorted()).toEqual(['catalog/pages/routes.ts'])
})

function packagesLoadedBy(start: string): string[] {
  return [...loadedBy(start).packages].toSorted()
}

/** All that a file imports, directly or indirectly, without what it loads by `import()`. */
interface Loaded {
  readonly files: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
  /** Of the runtime. */
  readonly modules: ReadonlySet<string>
}

function loadedBy(start: string): Loaded {
  const files = new Set([start])
  const packages = new Set<string>()
  const modules = new Set<string>()
  for (const file of files) {
    if (!/\.tsx?$/.test(file)) continue
    const transpiler = new Transpiler({ loader: file.endsWith('x') ? 'tsx' : 'ts' })
    for (const { path, kind } of transpiler.scanImports(readFileSync(join(SOURCE, file)))) {
      if (kind !== 'import-statement') continue
      if (path.startsWith('.')) files.add(join(dirname(file), path))
      else if (/^(node|bun):|^bun$/.test(path)) modules.add(path)
      else packages.add(/^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path)
    }
  }
  return { files, packages, modules }
}

/** The folders that contain folders or files, '' for `src` itself. */
function foldersAbove(files: readonly string[]): Set<string> {
  const folders = new Set<string>()
  for (const file of files) {
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) folders.add(`${folder}/`)
  }
  return folders.add('')
}

/** Imports between the rooms in `parent`: its folders, and the files that lie directly in it. */
function importsWithin(parent: string): Import[] {
  const roomOf = (file: string) => (file.startsWith(parent) ? file.slice(parent.length).split('/')[0] : undefined)
  return IMPORTS.flatMap(({ from, to }) => {
    const [one, other] = [roomOf(from), roomOf(to)]
    return one === undefined || other === undefined || one === other ? [] : [{ from: one, to: other }]
  })
}

/** The names that import themselves by way of others. */
function circlesAmong(imports: readonly Import[]): string[] {
  const imported = Map.groupBy(imports, ({ from }) => from)
  const reaches = (start: string) => {
    const reached = new Set<string>()
    const next = [start]
    for (let name = next.pop(); name !== undefined; name = next.pop()) {
      for (const { to } of imported.get(name) ?? []) {
        if (!reached.has(to)) next.push(to)
        reached.add(to)
      }
    }
    return reached
  }
  return [...imported.keys()].filter(name => reaches(name).has(name))
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\/\/.*$/gm, '')
}
