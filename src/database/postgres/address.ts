import { readFileSync } from 'node:fs'
import { errorMessage } from '../../program/error-message.ts'
import { SettingError } from '../../program/operator-error.ts'

const DEFAULT_PORT = 5432

const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
type TlsMode = (typeof TLS_MODES)[number]

/** The supported parameters of an address, with libpq's names and meanings. */
const PARAMETERS = ['sslmode', 'sslrootcert', 'application_name'] as const

/** libpq takes several hosts. Stockroom does not: only a proxy knows which of them is the primary. */
const SEVERAL_HOSTS = /^[^/]*\/\/([^/?#]*@)?[^/?#@]*,[^/?#@]*([/?#]|$)/

/** The address of a PostgreSQL database, with the credentials. */
export interface PostgresAddress {
  readonly engine: 'postgres'
  readonly hostname: string
  readonly port: number
  readonly username: string
  /** `null` if the server needs none. */
  readonly password: string | null
  readonly database: string
  readonly tls: TlsMode
  /** The only certificate authorities to trust, in PEM; `null` for the public ones. */
  readonly certificateAuthority: string | null
  /** Whether a pooler gives each transaction another connection to the server, so that connections have no settings. */
  readonly isPooled: boolean
  /** Whether Citus shall distribute the tables if they are new. */
  readonly shallDistribute: boolean
  /** The name of the connections in `pg_stat_activity`. */
  readonly applicationName: string | null
  /** Host, port and database: safe to show, because user and password are left out. */
  readonly place: string
}

/** The part of an address that comes from variables of its own. */
interface Surroundings {
  /** Used if the address has none. */
  readonly password: string | null
  readonly isPooled: boolean
  readonly shallDistribute: boolean
}

/**
 * Parses `postgres://user:password@host:port/database?sslmode=…`. Throws a `SettingError` that does not repeat the address,
 * because it may contain a password.
 */
export function postgresAddress(text: string, { password, isPooled, shallDistribute }: Surroundings): PostgresAddress {
  if (SEVERAL_HOSTS.test(text)) {
    throw new SettingError('the address has several hosts; give one, such as that of a proxy which knows the primary')
  }
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || url.hostname === '' || url.hash !== '') {
    throw new SettingError('the address must look like postgres://user:password@host:5432/database')
  }
  // To every parser, the host ends before the first slash. The rest of a password would be shown as the name of the database.
  if (url.pathname.includes('@')) {
    throw new SettingError(
      'the address has an @ after the host; write / in a user or password as %2F, and @ in a name as %40',
    )
  }
  // To libpq, a plus is no blank.
  const parameters = new URLSearchParams(url.search.replaceAll('+', '%2B'))
  for (const name of parameters.keys()) {
    if (!PARAMETERS.some(known => known === name)) {
      throw new SettingError(`the address has an unknown parameter; the known ones are ${PARAMETERS.join(', ')}`)
    }
    if (parameters.getAll(name).length > 1) throw new SettingError(`the address has ${name} more than once`)
  }
  const username = decoded(url.username) || 'postgres'
  const database = decoded(url.pathname.slice(1)) || username
  const hostname = decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  return {
    engine: 'postgres',
    hostname,
    port,
    username,
    password: url.password === '' ? password : decoded(url.password),
    database,
    tls: tlsMode(parameters.get('sslmode') ?? 'prefer'),
    certificateAuthority: certificate(parameters.get('sslrootcert')),
    isPooled,
    shallDistribute,
    applicationName: parameters.get('application_name'),
    place: `${url.hostname}:${port}/${database}`,
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new SettingError('the address has a % that is not followed by two hexadecimal digits; write % as %25')
  }
}

function tlsMode(text: string): TlsMode {
  const mode = TLS_MODES.find(known => known === text)
  if (!mode) throw new SettingError(`sslmode must be one of ${TLS_MODES.join(', ')}`)
  return mode
}

function certificate(path: string | null): string | null {
  if (path === null) return null
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SettingError(`cannot read sslrootcert: ${errorMessage(error)}`)
  }
}
