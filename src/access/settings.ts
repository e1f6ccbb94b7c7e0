import { oneOf, optional, type Setting } from '../program/config.ts'
import { SCOPES } from './key.ts'

const AUTH = ['off', 'keys'] as const

/** The setting that opens a server to anyone, or to clients with keys only. */
export const auth: Setting<(typeof AUTH)[number]> = {
  variable: 'AUTH',
  flag: 'auth',
  placeholder: AUTH.join('|'),
  fallback: 'off',
  meaning: 'who may use the service: off, anyone who can reach it; keys, clients with a key of stockroom key create',
  parse: text => oneOf(AUTH, text),
}

/** `null` if the flag is absent. */
export const scope = optional(
  'scope',
  SCOPES.join('|'),
  text => oneOf(SCOPES, text),
  'create: what the key allows; write includes read, and admin includes both and all of the users',
)
