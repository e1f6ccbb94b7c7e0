import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { init, type ModuleInfo } from 'license-checker-rseidelsohn'
import { name as ownName } from '../package.json'

const RULE = '='.repeat(80)

/** The library takes a README for a license if the package ships no other text. */
const README = /readme[^/]*$/i

const MISSING =
  'The package ships no license text. Other packages in this file ship the text of the license of the same name.'

/** The runtime: a package, and one for each platform. */
const RUNTIME = /^(bun|@oven\/bun-.*)$/

interface Shipped {
  readonly name: string
  readonly version: string
  readonly info: ModuleInfo
}

/** The licenses of this program, of every installed package that it depends on, and of the runtime. */
export async function collectNotices(): Promise<string> {
  const found = await promisify(init)({ start: resolve(import.meta.dir, '..'), production: true })
  const shipped = Object.entries(found).map(([key, info]): Shipped => {
    const at = key.lastIndexOf('@')
    return { name: key.slice(0, at), version: key.slice(at + 1), info }
  })
  const isOwn = ({ name }: Shipped) => name === ownName
  const isRuntime = ({ name }: Shipped) => RUNTIME.test(name)
  return [
    ...shipped.filter(isOwn).map(noticeOf),
    'The following are third-party software: the packages that the program depends on, and its runtime.\n',
    ...shipped.filter(one => !isOwn(one) && !isRuntime(one)).map(noticeOf),
    ...shipped.filter(({ name }) => name === 'bun').map(runtimeNotice),
  ].join(`\n${RULE}\n\n`)
}

function noticeOf({ name, version, info: { licenses, publisher, url, licenseFile, noticeFile } }: Shipped): string {
  const origin = [...(publisher ? [`By ${publisher}`] : []), ...(url ? [url] : [])]
  const head = [`${name} ${version}`, `License: ${[licenses].flat().join(', ')}`, ...origin].join('\n')
  const license = licenseFile && !README.test(licenseFile) ? readFileSync(licenseFile, 'utf8').trim() : MISSING
  const notice = noticeFile ? [readFileSync(noticeFile, 'utf8').trim()] : []
  return `${[head, license, ...notice].join('\n\n')}\n`
}

/** The package of the runtime ships no terms. */
function runtimeNotice({ version }: Shipped): string {
  const texts = ['bun.md', 'mit.txt', 'lgpl-2.1.txt'].map(file =>
    readFileSync(join(import.meta.dir, file), 'utf8').trim(),
  )
  return `${[`Bun ${version}, the runtime`, ...texts].join('\n\n')}\n`
}
