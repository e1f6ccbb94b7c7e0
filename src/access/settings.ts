import { choice, oneOf, type Setting } from '../program/config.ts'
import { SCOPES, type Scope } from './key.ts'

const AUTH = ['off', 'keys'] as const

/** The setting that opens a server to anyone, or to clients with keys only. */
export const auth: Setting<(typeof AUTH)[number]> = choice(
  'AUTH',
  AUTH,
  'off',
  'who may use the service: off, anyone who can reach it; keys, clients with a key of stockroom key create',
)

/** `null` if the flag is absent. */
export const scope: Setting<Scope | null> = {
  flag: 'scope',
  placeholder: SCOPES.join('|'),
  fallback: '',
  meaning: 'create: what the key allows; write includes read, and admin includes both and all of the users',
  parse: text => (text === '' ? null : oneOf(SCOPES, text)),
}
