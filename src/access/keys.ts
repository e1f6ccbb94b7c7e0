import { openDatabase } from '../database/open.ts'
import { database } from '../database/settings.ts'
import type { CommandLine } from '../program/config.ts'
import { OperatorError, SettingError } from '../program/operator-error.ts'
import { print, printError, printResult } from '../program/output.ts'
import { digestOf, isKeyName, newSecret, type Scope } from './key.ts'
import { accessMigrations } from './migrations/index.ts'
import { keysOf } from './open.ts'
import { KEYS_MAX } from './repository.ts'
import { scope } from './settings.ts'

export async function manageKeys(line: CommandLine): Promise<void> {
  const [verb, name] = line.operands
  const wanted = line.value(scope)
  if (verb !== 'create' && wanted !== null) throw new SettingError('only create takes --scope')
  if (verb === 'list' && name === undefined) await list(line)
  else if (verb === 'create') await create(line, keyName(name), wanted)
  else if (verb === 'revoke') await revoke(line, keyName(name))
  else throw new SettingError('key takes create NAME, list, or revoke NAME')
}

function keyName(text: string | undefined): string {
  if (text !== undefined && isKeyName(text)) return text
  throw new SettingError('a NAME of 1 to 64 letters, digits, dots, underscores and hyphens is required')
}

async function create(line: CommandLine, name: string, scope: Scope | null): Promise<void> {
  if (scope === null) throw new SettingError('create requires --scope read, write or admin')
  // The first key may be older than the catalog.
  await using store = await openDatabase({ address: line.value(database) }, [accessMigrations])
  const keys = keysOf(store)
  const secret = newSecret()
  if (!(await keys.create({ name, scope, digest: digestOf(secret) }))) {
    const isTaken = (await keys.list()).some(key => key.name === name)
    throw new OperatorError(
      isTaken
        ? `there is a key ${name} already; choose another name, or revoke that one first`
        : `there are ${KEYS_MAX} keys already, which is the maximum; revoke one first`,
    )
  }
  try {
    printResult(`${secret}\n`, { mustBeRead: true })
  } catch (error) {
    // Nobody has the secret.
    await keys.revoke(name)
    throw error
  }
  // A server on another database would refuse the key.
  if (store.engine === 'sqlite' && store.newFile !== null) printError(`The database ${store.newFile} is new\n`)
}

async function revoke(line: CommandLine, name: string): Promise<void> {
  await using store = await openDatabase({ address: line.value(database) }, [accessMigrations], { mustExist: true })
  if (!(await keysOf(store).revoke(name))) throw new OperatorError(`there is no key ${name}`)
  print(`revoked ${name}\n`)
}

/** Prints one line per key. */
async function list(line: CommandLine): Promise<void> {
  await using store = await openDatabase({ address: line.value(database) }, [accessMigrations], { mustExist: true })
  const keys = await keysOf(store).list()
  const width = Math.max(...keys.map(({ name }) => name.length))
  const lines = keys.map(({ name, scope, createdAt }) => {
    const created = new Date(createdAt).toISOString()
    return `${name.padEnd(width)}  ${scope.padEnd(5)}  ${created}\n`
  })
  printResult(lines.join(''))
}
