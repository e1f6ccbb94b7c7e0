import { digestOf, newSecret, type Scope } from '../../src/access/key.ts'
import { accessMigrations } from '../../src/access/migrations/index.ts'
import { keysOf } from '../../src/access/open.ts'
import { openDatabase } from '../../src/database/open.ts'
import { database as databaseSetting } from '../../src/database/settings.ts'

/** Creates access keys with the program's own code, in this process, which is quicker than its command. Returns their secrets. */
export async function storeKeys(url: string, names: readonly string[], scope: Scope): Promise<string[]> {
  const settings = { address: databaseSetting.parse(url) }
  await using database = await openDatabase(settings, [accessMigrations])
  const keys = keysOf(database)
  const secrets: string[] = []
  for (const name of names) {
    const secret = newSecret()
    if (!(await keys.create({ name, scope, digest: digestOf(secret) }))) throw new Error(`the key ${name} is there`)
    secrets.push(secret)
  }
  return secrets
}

/** The same for one key. */
export async function storeKey(url: string, name: string, scope: Scope): Promise<string> {
  const [secret] = await storeKeys(url, [name], scope)
  if (secret === undefined) throw new Error('no key was created')
  return secret
}
