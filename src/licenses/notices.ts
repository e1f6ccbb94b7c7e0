import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import bunNotice from './bun.md' with { type: 'text' }
import lgpl from './lgpl-2.1.txt' with { type: 'text' }
import mit from './mit.txt' with { type: 'text' }

const OWN_FOLDER = resolve(import.meta.dir, '../..')

/** Names of the files in which packages ship their licenses and notices. */
const LEGAL_FILE = /licen[cs]e|notice|copying/i

const RULE = '='.repeat(80)

const Package = z.object({
  name: z.string(),
  version: z.string(),
  license: z.string().optional(),
  author: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]).optional(),
  homepage: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).default({}),
})

interface Installed {
  readonly folder: string
  readonly description: z.infer<typeof Package>
}

/** The licenses of this program, of every installed package that it depends on, and of the runtime. */
export function collectNotices(): string {
  const own = installedAt(OWN_FOLDER)
  const others = [...dependenciesOf(own).values()].toSorted((a, b) => order(a.description.name, b.description.name))
  const isRuntime = ({ description }: Installed) => description.name === 'bun'
  return [
    noticeOf(own),
    'The following are third-party software: the packages that the program depends on, and its runtime.\n',
    ...others.filter(other => !isRuntime(other)).map(noticeOf),
    ...others.filter(isRuntime).map(runtimeNotice),
  ].join(`\n${RULE}\n\n`)
}

function noticeOf({ folder, description }: Installed): string {
  const { name, version, license, author, homepage } = description
  const texts = readdirSync(folder, { withFileTypes: true })
    .filter(file => file.isFile() && LEGAL_FILE.test(file.name))
    .map(file => readFileSync(join(folder, file.name), 'utf8').trim())
  const terms = license ? [`License: ${license}`] : []
  const origin = [...(author ? [`By ${author}`] : []), ...(homepage ? [homepage] : [])]
  const head = [`${name} ${version}`, ...terms, ...origin].join('\n')
  return `${[head, ...(texts.length > 0 ? texts : [missingText(license)])].join('\n\n')}\n`
}

/** Some packages name their license without shipping its text. */
function missingText(license: string | undefined): string {
  if (license === 'MIT') return mit.trim()
  return 'The package ships no license text. Other packages in this file ship the text of the license of the same name.'
}

function runtimeNotice({ description: { version } }: Installed): string {
  return [`Bun ${version}, the runtime`, bunNotice.trim(), mit.trim(), lgpl.trim()].join('\n\n').concat('\n')
}

/** All direct and indirect dependencies of a package that are installed, by folder. */
function dependenciesOf(
  { folder, description }: Installed,
  found = new Map<string, Installed>(),
): Map<string, Installed> {
  for (const name of Object.keys(description.dependencies)) {
    const place = folderOf(name, folder)
    if (place === null || found.has(place)) continue
    const dependency = installedAt(place)
    found.set(place, dependency)
    dependenciesOf(dependency, found)
  }
  return found
}

/** Finds a package as Node would from `from`; `null` if it is not installed. */
function folderOf(name: string, from: string): string | null {
  const place = join(from, 'node_modules', name)
  if (existsSync(join(place, 'package.json'))) return realpathSync(place)
  const above = dirname(from)
  return above === from ? null : folderOf(name, above)
}

function installedAt(folder: string): Installed {
  return { folder, description: Package.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))) }
}

function order(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
