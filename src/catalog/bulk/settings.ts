import { type Setting, toggle } from '../../program/config.ts'
import { SettingError } from '../../program/operator-error.ts'

export const FORMATS = ['ndjson', 'csv'] as const
export type Format = (typeof FORMATS)[number]

const RESOURCES = ['categories', 'products', 'users', 'reviews'] as const

export const resource = choice('resource', RESOURCES, 'what the files contain')
export const format = choice('format', FORMATS, 'how they are written')

export const keepGood = toggle('keep-good', 'skip wrong lines, and store all others')

export const passwordHashes = toggle('password-hashes', "export the hashes of users' passwords, too")

/** A flag for a property that the name of a file does not tell. */
function choice<Name extends string>(flag: string, names: readonly Name[], meaning: string): Setting<Name | null> {
  return {
    flag,
    placeholder: 'NAME',
    fallback: '',
    meaning: `${meaning}: ${names.join(', ')}; by default, taken from their names`,
    parse: text => {
      const name = names.find(candidate => candidate === text) ?? null
      if (name === null && text !== '') throw new SettingError(`${JSON.stringify(text)} is none of ${names.join(', ')}`)
      return name
    },
  }
}
