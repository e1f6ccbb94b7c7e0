import { count, fromEnvironment, list, oneOf, type Setting, secret, withSettingName } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { SHOWN_COMMAND } from '../program/own-command.ts'
import { type PostgresAddress, postgresAddress } from './postgres/address.ts'

const CONNECTIONS_MAX = 1_000

/** How a pooler such as PgBouncer shares its connections to the server. */
const POOLERS = ['none', 'transaction'] as const

/** What distributes the tables of a new database over several servers. */
const DISTRIBUTIONS = ['none', 'citus'] as const

/** Variables without a flag that a SQLite database ignores. */
export const POSTGRES_VARIABLES = [
  'DATABASE_PASSWORD',
  'DATABASE_PASSWORD_FILE',
  'DATABASE_POOLER',
  'DATABASE_DISTRIBUTION',
] as const

interface SqliteAddress {
  readonly engine: 'sqlite'
  readonly path: string
}

export type DatabaseAddress = SqliteAddress | PostgresAddress

export const database: Setting<DatabaseAddress> = {
  variable: 'DATABASE_URL',
  flag: 'database',
  placeholder: 'URL',
  fallback: 'sqlite:data/stockroom.db',
  meaning: 'the database: sqlite:PATH, a file that is created if it is missing, or postgres://…',
  parse: databaseAddress,
}

/** The same for a command that works on a file, and not on PostgreSQL. */
export const sqliteDatabase: Setting<DatabaseAddress> = { ...database, meaning: 'the SQLite database: sqlite:PATH' }

/** Streaming replicas of the PostgreSQL database at `DATABASE_URL`. */
export const databaseReplicas: Setting<PostgresAddress[]> = {
  ...list(
    'DATABASE_REPLICA_URLS',
    'URLS',
    replicaAddress,
    'PostgreSQL: streaming replicas that answer reads, separated by commas; none by default',
  ),
  flag: 'database-replicas',
}

export const databaseConnections: Setting<number> = count(
  'DATABASE_CONNECTIONS',
  4,
  [1, CONNECTIONS_MAX],
  'PostgreSQL: connections from this process to each server; each carries many statements at once',
)

/** The settings of every command that opens the database. */
export const databaseSettings = [database, databaseReplicas, databaseConnections] as const

/** Says in the help of commands which variables have no flag. */
export const POSTGRES_NOTE = `\
For PostgreSQL: DATABASE_PASSWORD, or DATABASE_PASSWORD_FILE with the path of a file, is the password if the address has
none. DATABASE_POOLER=transaction is for PgBouncer.`

/** The same for servers, which usually make the database. */
export const DATABASE_NOTE = `${POSTGRES_NOTE} DATABASE_DISTRIBUTION=citus spreads the tables of a new database.`

/** A command as an operator types it, with the flag by which it finds the database. It shows no password. */
export function commandOn(address: DatabaseAddress, words: string): string {
  const text = address.engine === 'sqlite' ? `sqlite:${address.path}` : 'postgres://…'
  const quoted = /[^\w/.:…-]/.test(text) ? `'${text.replaceAll("'", "'\\''")}'` : text
  const flag = text === database.fallback ? '' : ` --${database.flag} ${quoted}`
  return `\`${SHOWN_COMMAND} ${words}${flag}\``
}

/** Parses a database address that is an operand; errors call it `name`. */
export function databaseOperand(name: string, text: string): DatabaseAddress {
  return withSettingName(name, () => databaseAddress(text))
}

/** Replicas are connected to directly, whatever `DATABASE_POOLER` says of the primary. */
function replicaAddress(text: string): PostgresAddress {
  const address = databaseAddress(text)
  if (address.engine !== 'postgres') throw new SettingError('a replica must have a postgres:// address')
  return { ...address, isPooled: false }
}

function databaseAddress(text: string): DatabaseAddress {
  const [scheme, ...rest] = text.split(':')
  // An absolute path keeps one slash. With more, it would be taken for a relative one where it is shown after `sqlite:`.
  const path = rest.join(':').replace(/^\/{2,}(?=\/)|^\/\//, '')
  if (scheme === 'postgres' || scheme === 'postgresql') {
    return postgresAddress(text, {
      password: secret('DATABASE_PASSWORD', password => password),
      isPooled: fromEnvironment('DATABASE_POOLER', pooler => oneOf(POOLERS, pooler)) === 'transaction',
      shallDistribute: fromEnvironment('DATABASE_DISTRIBUTION', name => oneOf(DISTRIBUTIONS, name)) === 'citus',
    })
  }
  if (scheme !== 'sqlite' || rest.length === 0) {
    throw new SettingError('not a database address; use sqlite:PATH or postgres://user:password@host:5432/database')
  }
  if (path === '' || path.startsWith(':')) {
    throw new SettingError('a file path is required after sqlite:, for example sqlite:data/stockroom.db')
  }
  // SQLite's driver would leave it out, and other programs would not.
  if (path.trim() !== path)
    throw new SettingError('the file path begins or ends with white space, perhaps the end of a line')
  return { engine: 'sqlite', path }
}
