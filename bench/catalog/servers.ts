import { join } from 'node:path'
import type { ServerCommand } from '../server-process.ts'
import { commandOf, type Version, WORKING_TREE } from '../stockroom.ts'

const ANY_PORT = ['--host', '127.0.0.1', '--port', '0']
const PEERS = join(import.meta.dir, 'peers')

export const BENCH = join(import.meta.dir, '..')

/** The peers' Node: a pinned version, whichever one the machine has. */
export const NODE = join(BENCH, 'node_modules', '.bin', 'node')

export interface Contestant {
  readonly name: string
  readonly kind: 'service' | 'peer' | 'ceiling'
  /** The command that starts it on a database of its own. */
  readonly on: (databaseAddress: string) => ServerCommand
}

export const SERVICE = service(WORKING_TREE)

export function peersAndCeiling(answersFile: string): Contestant[] {
  return [
    peer('fastify-node-sqlite', NODE),
    peer('express-better-sqlite3', NODE),
    peer('elysia-bun-sqlite', process.execPath),
    { ...peer('runtime-ceiling', process.execPath, { ANSWERS: answersFile }), kind: 'ceiling' },
  ]
}

export function service(version: Version): Contestant {
  return {
    name: version.name,
    kind: 'service',
    on: databaseAddress => ({
      name: version.name,
      command: commandOf(version, 'serve', ...ANY_PORT, '--database', databaseAddress),
      directory: version.root,
      environment: { ACCESS_LOG: 'off' },
    }),
  }
}

function peer(name: string, runtime: string, environment: Record<string, string> = {}): Contestant {
  return {
    name,
    kind: 'peer',
    on: databaseAddress => ({
      name,
      command: [runtime, join(PEERS, `${name}.ts`)],
      directory: BENCH,
      environment: {
        NODE_ENV: 'production',
        DATABASE: databaseAddress.replace(/^sqlite:/, ''),
        PORT: '0',
        ...environment,
      },
    }),
  }
}
