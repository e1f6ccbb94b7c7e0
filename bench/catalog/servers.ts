import { join } from 'node:path'
import { onServerCore } from '../cores.ts'
import type { ServerCommand } from '../server-process.ts'
import { commandOf, type Version, WORKING_TREE } from '../stockroom.ts'
import type { Workload } from './workloads.ts'

const ANY_PORT = ['--host', '127.0.0.1', '--port', '0']
const PEERS = join(import.meta.dir, 'peers')

export const CEILING = 'runtime-ceiling'
export const NATIVE = 'native-go-fasthttp'

/** The fastest of the peers, for a quick look. */
export const BEST_PEER = 'elysia-bun-sqlite'

export const BENCH = join(import.meta.dir, '..')

/** The peers' Node: a pinned version, whichever one the machine has. */
export const NODE = join(BENCH, 'node_modules', '.bin', 'node')

export interface Contestant {
  readonly name: string
  readonly kind: 'service' | 'peer' | 'native' | 'ceiling'
  /** The command that starts it on a database of its own. The ceiling needs to know the workload, whose answers it repeats. */
  readonly on: (databaseAddress: string, workload?: Workload) => ServerCommand
}

export const SERVICE = service(WORKING_TREE)

export function peersAndCeiling(answersFile: string, native: readonly Contestant[]): Contestant[] {
  return [
    typeScriptPeer(PEERS, 'fastify-node-sqlite', NODE),
    typeScriptPeer(PEERS, 'express-better-sqlite3', NODE),
    typeScriptPeer(PEERS, BEST_PEER, process.execPath),
    ...native,
    {
      name: CEILING,
      kind: 'ceiling',
      on: (address, workload) => {
        const environment = { ANSWERS: answersFile, WORKLOAD: workload?.name ?? '' }
        return typeScriptPeer(PEERS, CEILING, process.execPath, environment).on(address)
      },
    },
  ]
}

/** The contestant on the core that servers have for themselves. */
export function pinned(contestant: Contestant): Contestant {
  return {
    ...contestant,
    on: (databaseAddress, workload) => {
      const server = contestant.on(databaseAddress, workload)
      return { ...server, command: onServerCore(server.command) }
    },
  }
}

export function service(version: Version): Contestant {
  return {
    name: version.name,
    kind: 'service',
    on: databaseAddress => ({
      name: version.name,
      command: commandOf(version, 'serve', ...ANY_PORT, '--database', databaseAddress),
      directory: version.root,
      environment: { ACCESS_LOG: 'off', ...version.settings },
    }),
  }
}

/** A peer whose program is in this folder. */
export function typeScriptPeer(
  folder: string,
  name: string,
  runtime: string,
  environment: Record<string, string> = {},
): Contestant {
  return peer(name, [runtime, join(folder, `${name}.ts`)], environment)
}

export function peer(name: string, command: readonly string[], environment: Record<string, string> = {}): Contestant {
  return {
    name,
    kind: 'peer',
    on: databaseAddress => ({
      name,
      command,
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
