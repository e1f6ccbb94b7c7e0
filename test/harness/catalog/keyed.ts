import type { Client } from '../client.ts'

export const NDJSON = 'application/x-ndjson'

/** An answer to a request with an `Idempotency-Key`. */
export interface KeyedAnswer {
  readonly status: number
  readonly text: string
  readonly isReplayed: boolean
  readonly headers: Headers
}

interface KeyedRequest {
  readonly key: string
  readonly path: string
  /** Sent as it is if it is a text, otherwise as JSON. */
  readonly body: unknown
  readonly type?: string
  /** Other headers. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Posts a body with a key. */
export async function postKeyed(
  { address }: Pick<Client, 'address'>,
  { key, path, body, type = 'application/json', headers = {} }: KeyedRequest,
  signal?: AbortSignal,
): Promise<KeyedAnswer> {
  const response = await fetch(address() + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...headers, 'Content-Type': type, 'Idempotency-Key': key },
    ...(signal && { signal }),
  })
  return {
    status: response.status,
    text: await response.text(),
    isReplayed: response.headers.get('Idempotency-Replayed') === 'true',
    headers: response.headers,
  }
}

export function lines(...items: readonly unknown[]): string {
  return items.map(item => `${JSON.stringify(item)}\n`).join('')
}
