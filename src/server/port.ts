import type { Server } from 'bun'
import { errorCode, errorMessage } from '../program/error-message.ts'
import { OperatorError } from '../program/operator-error.ts'
import { isIP } from './ip-address.ts'

/** The flag of the operators' port. */
export const OPERATOR_PORT_FLAG = 'admin-port'

/** Starts a server. Throws an `OperatorError` if it cannot listen there; `portFlag` names the flag to change. */
export function bind(
  options: Parameters<typeof Bun.serve<undefined>>[0] & { hostname: string; port: number },
  portFlag = 'port',
): Server<undefined> {
  try {
    // In development, the runtime answers for a path of its own, and shows errors with their source. Otherwise, it shares the port
    // unless it is told not to.
    return Bun.serve<undefined>({ reusePort: false, ...options, development: false })
  } catch (error) {
    const code = errorCode(error)
    const place = `${options.hostname}:${options.port}`
    // The runtime says the same of a name that it cannot look up.
    if (code === 'EADDRINUSE' && !isIP(options.hostname) && options.hostname !== 'localhost') {
      throw new OperatorError(
        `cannot listen on ${place}: the port is in use, or this machine has no address of that name`,
      )
    }
    if (code === 'EADDRINUSE') throw portInUse(place, portFlag)
    throw new OperatorError(`cannot listen on ${place}: ${reasonOf(error, portFlag)}`)
  }
}

function reasonOf(error: unknown, portFlag: string): string {
  if (errorCode(error) === 'EADDRNOTAVAIL') return 'this machine has no such address'
  if (errorCode(error) !== 'EACCES') return errorMessage(error)
  return `this user may not use so low a port; choose a higher one with --${portFlag}`
}

/** Throws an `OperatorError` if a program listens on the port. */
export function requireFreePort(host: string, port: number, portFlag?: string): void {
  bind({ hostname: host, port, fetch: () => new Response() }, portFlag).stop(true)
}

/**
 * Keeps other supervisors from starting on the port until it is disposed of. Two that start at the same moment would both find
 * the port free, and then their workers would share it, each with its own database. Throws an `OperatorError` if another one has
 * claimed it. The claim is an abstract socket: Linux removes it with its process, and it belongs to the same network as the port.
 */
export function claimPort(host: string, port: number): Disposable {
  const place = `${host}:${port}`
  try {
    const claim = Bun.listen({ unix: `\0stockroom starts on ${place}`, socket: { data: () => {} } })
    claim.unref()
    return { [Symbol.dispose]: () => claim.stop(true) }
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') throw portInUse(place, 'port')
    // Without such sockets, only services that start at different times are told apart.
    return { [Symbol.dispose]: () => {} }
  }
}

/** The URL for clients on this machine. */
export function reachableAddress(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function portInUse(place: string, portFlag: string): OperatorError {
  return new OperatorError(
    `${place} is in use; stop the program that listens there, or choose another port with --${portFlag}`,
  )
}
