import { insertChanges } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { StoredResource, Values } from '../resource.ts'

/**
 * SQL for a further common table expression of a statement, which logs its changes. `changed` is SQL for the changed rows, which have
 * this alias. `before` is the alias of the references that they had, `null` if the rows are new.
 */
export function loggedChanges<Row extends Values>(
  resource: StoredResource<Row>,
  changed: string,
  before: string | null,
): string {
  const insert = insertChanges(changesSql(resource, before), 'count(*)')
  // A statement that changes nothing may have locked a row, and then is a transaction to be accounted for.
  return `, logged AS (${insert} FROM ${changed} HAVING count(*) > 0 OR pg_current_xact_id_if_assigned() IS NOT NULL)`
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
  beforeAlias: string | null,
): string {
  const number = (sql: string) => `' || coalesce(${sql}::text, 'null') || '`
  const text = (sql: string) => `' || coalesce(to_json(${sql})::text, 'null') || '`
  const of = (alias: string) =>
    `{${references.map(({ column }) => `"${column}":${number(`${alias}.${column}`)}`).join(',')}}`
  const before = beforeAlias === null ? 'null' : of(beforeAlias)
  const values = followed.map(
    column => `"${column}":${(columns[column] === 'text' ? text : number)(`changed.${column}`)}`,
  )
  const told = values.length > 0 ? `,"values":{${values.join(',')}}` : ''
  const change = `'{"table":"${table}","id":${number('changed.id')},"before":${before},"after":${of('changed')}${told}}'`
  return `('[' || coalesce(string_agg(${change}, ','), '') || ']')::json`
}
