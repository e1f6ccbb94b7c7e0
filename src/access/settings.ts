import type { Setting } from '../config.ts'
import { SettingError } from '../operator-error.ts'
import { SCOPES, type Scope } from './key.ts'

/** `null` if the flag is absent. */
export const scope: Setting<Scope | null> = {
  flag: 'scope',
  placeholder: SCOPES.join('|'),
  fallback: '',
  meaning: 'create: what the key allows; write includes read, and admin includes both and all of the users',
  parse: text => {
    if (text === '') return null
    const scope = SCOPES.find(name => name === text)
    if (!scope) throw new SettingError(`${JSON.stringify(text)} is not one of ${SCOPES.join(', ')}`)
    return scope
  },
}
