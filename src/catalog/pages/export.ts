import { linesOf } from '../../lines.ts'
import type { RequestScope } from '../../server/requests.ts'
import { csvLine } from '../bulk/csv.ts'
import type { BulkResource } from '../bulk/resources.ts'
import type { Format } from '../bulk/settings.ts'
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
  format: Format,
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
  const body = format === 'csv' ? csvOf(response.body, names) : response.body
  return new Response(body, {
    headers: {
      'Content-Type': format === 'csv' ? 'text/csv; charset=utf-8' : NDJSON_TYPE,
      'Content-Disposition': `attachment; filename="${table}.${format}"`,
      'Cache-Control': 'no-store',
    },
  })
}

async function* csvOf(lines: AsyncIterable<Uint8Array>, names: readonly string[]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  yield encoder.encode(csvLine(names))
  for await (const some of linesOf(lines)) {
    yield encoder.encode(some.map(line => csvLine(valuesIn(line, names))).join(''))
  }
}

function valuesIn(line: string, names: readonly string[]): Value[] {
  const item: Record<string, Value> = JSON.parse(line)
  return names.map(name => item[name] ?? null)
}
