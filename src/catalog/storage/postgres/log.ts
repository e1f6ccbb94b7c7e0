import { insertChanges } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { StoredResource, Values } from '../resource.ts'

/** The change to the logged rows; `update` has an alias for the references that the rows had before. */
type Event = 'create' | { readonly update: string }

/**
 * Makes a statement that also logs its changes. `statement` takes a further common table expression, which reads the changed
 * rows from the one named `changed`.
 */
export function logged<Row extends Values>(
  resource: StoredResource<Row>,
  event: Event,
  changed: string,
  statement: (log: string) => string,
): string {
  const insert = insertChanges(changesSql(resource, event), 'count(*)')
  // A statement that changes nothing may have locked a row, and then is a transaction to be accounted for.
  return statement(
    `, logged AS (${insert} FROM ${changed} HAVING count(*) > 0 OR pg_current_xact_id_if_assigned() IS NOT NULL)`,
  )
}

/**
 * Whether a transaction that changes no resource must be logged, too: one that is missing in the log clears the caches of all nodes
 * that have one, whether this node has a cache or not. On Citus nothing is cached.
 */
export function logsEveryTransaction({ isDistributed }: PostgresDatabase): boolean {
  return !isDistributed
}

/** SQL for the changes of all rows, as JSON. Concatenated, since `json_build_object` takes longer than the rest of the log. */
function changesSql<Row extends Values>(
  { table, columns, references, followed }: StoredResource<Row>,
  event: Event,
): string {
  const number = (sql: string) => `' || coalesce(${sql}::text, 'null') || '`
  const text = (sql: string) => `' || coalesce(to_json(${sql})::text, 'null') || '`
  const of = (alias: string) =>
    `{${references.map(({ column }) => `"${column}":${number(`${alias}.${column}`)}`).join(',')}}`
  const before = event === 'create' ? 'null' : of(event.update)
  const values = followed.map(
    column => `"${column}":${(columns[column] === 'text' ? text : number)(`changed.${column}`)}`,
  )
  const told = values.length > 0 ? `,"values":{${values.join(',')}}` : ''
  const change = `'{"table":"${table}","id":${number('changed.id')},"before":${before},"after":${of('changed')}${told}}'`
  return `('[' || coalesce(string_agg(${change}, ','), '') || ']')::json`
}
