import { optional, type Setting, toggle } from '../../program/config.ts'
import { SettingError } from '../../program/operator-error.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

const RESOURCES = ['categories', 'products', 'users', 'reviews'] as const

const FROM_THEIR_NAMES = 'by default, taken from their names'

export const resource = choice('resource', RESOURCES, 'what the files contain', FROM_THEIR_NAMES)
export const format = choice('format', FORMATS, 'how they are written', FROM_THEIR_NAMES)

export const exportedResource = choice('resource', RESOURCES, 'what to export', 'by default, taken from the name of TO')
export const exportedFormat = choice(
  'format',
  FORMATS,
  'how to write it',
  'by default, taken from the name of TO, else ndjson',
)

export const keepGood = toggle('keep-good', 'skip wrong lines, and store all others')

export const passwordHashes = toggle('password-hashes', "export the hashes of users' passwords, too")

/** A flag for a property that the name of a file does not tell. */
function choice<Name extends string>(
  flag: string,
  names: readonly Name[],
  meaning: string,
  fallback: string,
): Setting<Name | null> {
  const read = (text: string) => {
    const name = names.find(candidate => candidate === text)
    if (!name) throw new SettingError(`${JSON.stringify(text)} is none of ${names.join(', ')}`)
    return name
  }
  return optional(flag, 'NAME', read, `${meaning}: ${names.join(', ')}; ${fallback}`)
}
