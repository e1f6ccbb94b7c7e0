import type { RequestScope } from '../../server/requests.ts'
import { csvLine } from '../bulk/csv.ts'
import type { BulkResource } from '../bulk/resources.ts'
import { NDJSON_TYPE } from '../http/validation/ndjson-type.ts'
import type { Value } from '../storage/resource.ts'
import type { OwnOperations } from './own-operations.ts'

/** More items than any list has. */
const ALL = 1_000_000_000

/** A file with a whole list, which is sent while it is read. */
export async function exportOf(
  own: OwnOperations,
  visit: RequestScope,
  { stored: { table, columns } }: BulkResource,
  format: 'csv' | 'ndjson',
): Promise<Response> {
  // In place of the hash of a password, there is the interface's mask.
  const names = ['id', ...Object.keys(columns).map(name => (name === 'password_hash' ? 'password' : name))]
  const response = await own.call(visit, {
    method: 'GET',
    route: `/${table}/`,
    query: `?limit=${ALL}&fields=${names}`,
    headers: { Accept: NDJSON_TYPE },
  })
  if (!response.ok || !response.body) return response
  const body = format === 'csv' ? response.body.pipeThrough(csvFrom(names)) : response.body
  return new Response(body, {
    headers: {
      'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : NDJSON_TYPE,
      'Content-Disposition': `attachment; filename="${table}.${format}"`,
      'Cache-Control': 'no-store',
    },
  })
}

function csvFrom(names: readonly string[]): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let rest = ''
  return new TransformStream({
    start: controller => controller.enqueue(encoder.encode(csvLine(names))),
    transform: (chunk, controller) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      const text = lines.map(line => csvLine(valuesIn(line, names))).join('')
      if (text !== '') controller.enqueue(encoder.encode(text))
    },
  })
}

function valuesIn(line: string, names: readonly string[]): Value[] {
  const item: Record<string, Value> = JSON.parse(line)
  return names.map(name => item[name] ?? null)
}
