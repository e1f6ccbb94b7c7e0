import { readFile } from 'node:fs/promises'

/** Linux lists TCP connections over IPv4 and IPv6 here: https://docs.kernel.org/networking/proc_net_tcp.html */
const FILES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'] as const

/** The states ESTABLISHED and CLOSE_WAIT, in which the server has the connection open. */
const OPEN_STATES = '(?:01|08)'

/**
 * Linux takes up to 15 ms of processor time, in the background, to list 10,000 connections. So a count is kept the longer, the
 * more connections of this machine were listed: these 10,000 are counted every second.
 */
const KEPT_MS_PER_CONNECTION = 0.1
const KEPT_MAX_MS = 10_000

export interface Connections {
  /** `null` on systems other than Linux. */
  readonly open: number | null
  /** The length of the lists. */
  readonly listed: number
}

/** Counts the connections to a port. On a machine with many connections, resolves to a recent count. */
export function recentConnections(port: () => number): () => Promise<Connections> {
  let last: Promise<Connections> | null = null
  let keptUntil = 0
  return async () => {
    if (last === null || performance.now() >= keptUntil) {
      keptUntil = Number.POSITIVE_INFINITY
      last = connectionsTo(port())
      const { listed } = await last
      keptUntil = performance.now() + Math.min(listed * KEPT_MS_PER_CONNECTION, KEPT_MAX_MS)
    }
    return last
  }
}

/** Counts the connections to a port of this machine. */
export async function connectionsTo(port: number): Promise<Connections> {
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0')
  const open = new RegExp(`^ *\\d+: [0-9A-F]+:${hexadecimal} [0-9A-F]+:[0-9A-F]+ ${OPEN_STATES} `, 'gm')
  const tables = await Promise.all(FILES.map(file => readFile(file, 'latin1').catch(() => '')))
  if (tables.every(table => table === '')) return { open: null, listed: 0 }
  const matches = (pattern: RegExp) => tables.reduce((sum, table) => sum + (table.match(pattern)?.length ?? 0), 0)
  return { open: matches(open), listed: matches(/\n/g) }
}
