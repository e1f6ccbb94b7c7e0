import { readFile } from 'node:fs/promises'

/** Linux lists TCP connections over IPv4 and IPv6 here: https://docs.kernel.org/networking/proc_net_tcp.html */
const FILES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'] as const

/** The states ESTABLISHED and CLOSE_WAIT, in which the server has the connection open. */
const OPEN_STATES = '(?:01|08)'

/** A count is kept this long, because Linux takes up to 15 ms of processor time to make the lists, in the background. */
const KEPT_MS = 10_000

/** Counts the connections to a port. Resolves to the last count, which may be ten seconds old. */
export function recentConnections(port: () => number): () => Promise<number | null> {
  let counted: Promise<number | null> = Promise.resolve(null)
  let countedAt = Number.NEGATIVE_INFINITY
  return () => {
    if (performance.now() - countedAt > KEPT_MS) {
      countedAt = performance.now()
      counted = connectionsTo(port())
    }
    return counted
  }
}

/** The open connections to a port of this machine; `null` on systems other than Linux. */
export async function connectionsTo(port: number): Promise<number | null> {
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0')
  const open = new RegExp(`^ *\\d+: [0-9A-F]+:${hexadecimal} [0-9A-F]+:[0-9A-F]+ ${OPEN_STATES} `, 'gm')
  try {
    const tables = await Promise.all(FILES.map(file => readFile(file, 'latin1').catch(() => '')))
    if (tables.every(table => table === '')) return null
    return tables.reduce((sum, table) => sum + (table.match(open)?.length ?? 0), 0)
  } catch {
    return null
  }
}
