import { z } from '@hono/zod-openapi'
import type { DirectRoutes, RequestScope } from '../../server/requests.ts'
import { ValidationError } from '../http/validation/errors.ts'

const Failure = z.object({ detail: z.union([z.string(), z.array(ValidationError)]) })

/** A request to one of the service's own operations. */
interface OwnRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly route: string
  /** The value of the route's parameter, if it has one. */
  readonly id?: number | string
  readonly query?: string
  /** Sent as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Calls the service's own operations as a program would, with the key of the page's visitor. So a page can do what the interface
 * can do and no more, and the interface validates, compares tags and counts towards limits.
 */
export class OwnOperations {
  readonly #operations: DirectRoutes

  constructor(operations: DirectRoutes) {
    this.#operations = operations
  }

  async call(visit: RequestScope, sent: OwnRequest): Promise<Response> {
    const { method, route, id = '', query = '', body, headers } = sent
    const operation = this.#operations.get(route)?.[method]
    if (!operation) throw new Error(`there is no operation ${method} ${route}`)
    const [, parameter] = /:(\w+)/.exec(route) ?? []
    const parameters = parameter === undefined ? {} : { [parameter]: encodeURIComponent(id) }
    const text = body === undefined ? null : JSON.stringify(body)
    const request = new Request(`http://localhost${route.replace(/:\w+/, encodeURIComponent(id))}${query}`, {
      method,
      body: text,
      headers: {
        ...headers,
        ...(text !== null && {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(text)),
        }),
      },
      signal: visit.request.signal,
    })
    const { requestId, streaming, key, trace } = visit
    return operation(request, {
      ...{ request, requestId, streaming, key, trace },
      matched: { route, parameters },
      isHead: false,
      get clientAddress() {
        return visit.clientAddress
      },
      allowIdle: seconds => visit.allowIdle(seconds),
    })
  }

  /** Resolves to `null` if the operation did it. */
  async change(visit: RequestScope, sent: OwnRequest): Promise<Refusal | null> {
    const response = await this.call(visit, sent)
    if (!response.ok) return refusalOf(response)
    await response.body?.cancel()
    return null
  }
}

/** Why an operation refused: the reasons by the names of fields, and one for the whole request. */
export interface Refusal {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly reason: string
}

export async function refusalOf(response: Response): Promise<Refusal> {
  const { detail } = Failure.parse(await response.json())
  if (typeof detail === 'string') return { status: response.status, fields: {}, reason: detail }
  const fields = Object.fromEntries(detail.map(({ loc, msg }) => [String(loc[1]), plain(msg)]))
  return { status: response.status, fields, reason: 'Some fields need another look.' }
}

/** The reason without the words that only programmers use. */
function plain(message: string): string {
  return message.replace(/^(String|Input) should /, 'Should ').replace(/^Value error, /, '')
}
