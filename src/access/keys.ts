import { openDatabase, openExistingDatabase } from '../database/open.ts'
import { type DatabaseAddress, database } from '../database/settings.ts'
import type { CommandLine } from '../program/config.ts'
import { OperatorError, SettingError } from '../program/operator-error.ts'
import { print } from '../program/output.ts'
import { digestOf, isKeyName, newSecret, type Scope } from './key.ts'
import { accessMigrations } from './migrations/index.ts'
import { keysOf } from './open.ts'
import { KEYS_MAX } from './repository.ts'
import { scope } from './settings.ts'

/** Resolves to the text to print. */
type Action = (address: DatabaseAddress) => Promise<string>

export async function manageKeys(line: CommandLine): Promise<void> {
  const act = chosenAction(line)
  print(await act(line.value(database)))
}

function chosenAction(line: CommandLine): Action {
  const [verb, name] = line.operands
  const wanted = line.value(scope)
  if (verb !== 'create' && wanted !== null) throw new SettingError('only create takes --scope')
  if (verb === 'list' && name === undefined) return list
  if (verb === 'create') return creation(keyName(name), wanted)
  if (verb === 'revoke') return revocation(keyName(name))
  throw new SettingError('key takes create NAME, list, or revoke NAME')
}

function keyName(text: string | undefined): string {
  if (text !== undefined && isKeyName(text)) return text
  throw new SettingError('a NAME of 1 to 64 letters, digits, dots, underscores and hyphens is required')
}

function creation(name: string, scope: Scope | null): Action {
  if (scope === null) throw new SettingError('create requires --scope read, write or admin')
  return async address => {
    // The first key may be older than the catalog.
    await using store = await openDatabase({ address, replicas: [], connections: 1 }, [accessMigrations])
    await store.ready
    const keys = keysOf(store)
    const secret = newSecret()
    if (await keys.create({ name, scope, digest: digestOf(secret) })) return `${secret}\n`
    const isTaken = (await keys.list()).some(key => key.name === name)
    throw new OperatorError(
      isTaken
        ? `there is a key ${name} already; choose another name, or revoke that one first`
        : `there are ${KEYS_MAX} keys already, which is the maximum; revoke one first`,
    )
  }
}

function revocation(name: string): Action {
  return async address => {
    await using store = await openExistingDatabase(address, [accessMigrations])
    await store.ready
    if (await keysOf(store).revoke(name)) return `revoked ${name}\n`
    throw new OperatorError(`there is no key ${name}`)
  }
}

/** One line per key. */
async function list(address: DatabaseAddress): Promise<string> {
  await using store = await openExistingDatabase(address, [accessMigrations])
  await store.ready
  const rows = (await keysOf(store).list()).map(({ createdAt, ...key }) => ({ ...key, created: new Date(createdAt) }))
  const width = Math.max(...rows.map(({ name }) => name.length))
  return rows
    .map(({ name, scope, created }) => `${name.padEnd(width)}  ${scope.padEnd(5)}  ${created.toISOString()}\n`)
    .join('')
}
