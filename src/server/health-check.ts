import { get } from 'node:http'
import { errorMessage } from '../program/error-message.ts'
import { OperatorError } from '../program/operator-error.ts'

const ANSWER_MAX_MS = 4_000

/** A server that listens on all addresses is asked at this one. `::` includes those of IPv4, and a machine may have no `::1`. */
const LOOPBACK: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '127.0.0.1' }

/** The address of a server, and the path to ask for. */
interface ServerPlace {
  readonly host: string
  readonly port: number
  readonly path: string
}

/** Rejects with an `OperatorError` unless the server answers 200. */
export async function checkHealth(place: ServerPlace): Promise<void> {
  const host = LOOPBACK[place.host] ?? place.host
  const status = await answered({ ...place, host }).catch((error: unknown) => {
    throw new OperatorError(`no answer from port ${place.port}: ${errorMessage(error)}`)
  })
  if (status !== 200) throw new OperatorError(`${place.path} answered ${status}`)
}

/**
 * The status of the answer. Unlike `fetch`, this asks no proxy. A server may listen on a name that it does not answer for, but
 * it always answers for `localhost`.
 */
function answered(place: ServerPlace): Promise<number | undefined> {
  const options = { ...place, headers: { Host: 'localhost' }, signal: AbortSignal.timeout(ANSWER_MAX_MS) }
  return new Promise((resolve, reject) => {
    const request = get(options, response => {
      response.resume()
      resolve(response.statusCode)
    })
    request.on('error', reject)
  })
}
