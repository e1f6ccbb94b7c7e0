export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** Parsed if it is JSON, otherwise the text. */
  readonly body: unknown
}

export interface Client {
  readonly address: () => string
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  readonly post: (path: string, body: unknown) => Promise<Answer>
  readonly put: (path: string, body: unknown) => Promise<Answer>
  readonly patch: (path: string, body: unknown) => Promise<Answer>
  readonly delete: (path: string) => Promise<Answer>
  /** A request of any form. */
  readonly send: (path: string, request: RequestInit) => Promise<Answer>
  /** Posts a body that must be accepted and returns the new id. */
  readonly create: (path: string, body: unknown) => Promise<number>
}

/** Speaks HTTP with a service, as any client would. All requests have the headers `always`. */
export function client(address: () => string, always: Readonly<Record<string, string>> = {}): Client {
  const send = async (path: string, request: RequestInit): Promise<Answer> => {
    const headers = new Headers(request.headers)
    for (const [name, value] of Object.entries(always)) headers.set(name, value)
    const response = await fetch(address() + path, { redirect: 'manual', ...request, headers })
    const text = await response.text()
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json') && text !== ''
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  const sendJson = (method: string) => (path: string, body: unknown) =>
    send(path, { method, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } })
  const post = sendJson('POST')
  return {
    address,
    get: (path, headers = {}) => send(path, { headers }),
    post,
    put: sendJson('PUT'),
    patch: sendJson('PATCH'),
    delete: path => send(path, { method: 'DELETE' }),
    send,
    create: async (path, body) => {
      const answer = await post(path, body)
      if (answer.status !== 200 || !hasId(answer.body)) {
        throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      return answer.body.id
    },
  }
}

function hasId(body: unknown): body is { id: number } {
  return typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'number'
}
