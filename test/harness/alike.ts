import { expect } from 'bun:test'
import type { Answer, Client } from './client.ts'

/** Headers that clients act on; the others differ from answer to answer. */
const TELLING = ['Content-Type', 'Link', 'Location', 'Allow', 'Retry-After']

/** A client of several services at once, which all got the same requests since they started: each must answer as the first does. */
export function alike(clients: readonly Client[]): Client {
  const ofAll = async <Result>(ask: (client: Client) => Promise<Result>, shown: (result: Result) => unknown) => {
    const results = await Promise.all(clients.map(ask))
    const [first, ...others] = results
    if (first === undefined) throw new Error('no service to ask')
    for (const other of others) expect(shown(other)).toEqual(shown(first))
    return first
  }
  const answers = (ask: (client: Client) => Promise<Answer>) => ofAll(ask, toldBy)
  return {
    address: () => clients[0]?.address() ?? '',
    get: (path, headers) => answers(client => client.get(path, headers)),
    post: (path, body) => answers(client => client.post(path, body)),
    put: (path, body) => answers(client => client.put(path, body)),
    patch: (path, body) => answers(client => client.patch(path, body)),
    delete: path => answers(client => client.delete(path)),
    send: (path, request) => answers(client => client.send(path, request)),
    create: (path, body) =>
      ofAll(
        client => client.create(path, body),
        id => id,
      ),
  }
}

function toldBy({ status, body, headers }: Answer) {
  return { status, body, headers: TELLING.map(name => [name, headers.get(name)]) }
}
