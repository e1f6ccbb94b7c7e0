import { join } from 'node:path'
import { BENCH, type Contestant, NODE } from '../catalog/servers.ts'

const PEERS = join(import.meta.dir, 'peers')

export const peers: readonly Contestant[] = [
  peer('fastify-pg', NODE),
  peer('fastify-postgres-js', NODE),
  peer('hono-drizzle', process.execPath),
]

function peer(name: string, runtime: string): Contestant {
  return {
    name,
    kind: 'peer',
    on: databaseAddress => ({
      name,
      command: [runtime, join(PEERS, `${name}.ts`)],
      directory: BENCH,
      environment: { NODE_ENV: 'production', DATABASE: databaseAddress, PORT: '0' },
    }),
  }
}
