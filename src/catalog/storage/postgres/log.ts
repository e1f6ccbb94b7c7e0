import { insertChanges, REMOVE_OLD_CHANGES } from '../../../database/postgres/changes.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import type { StoredResource, Values } from '../resource.ts'

/** One of this many writes of a node removes old rows. */
const REMOVAL_INTERVAL = 512

/** The change to the logged rows; `update` has an alias for the references that the rows had before. */
type Event = 'create' | { readonly update: string }

/**
 * Makes a statement that also logs its changes. `statement` takes a further common table expression, which reads the changed
 * rows from the one named `changed`.
 */
export function logged<Row extends Values>(
  database: PostgresDatabase,
  resource: StoredResource<Row>,
  event: Event,
  changed: string,
  statement: (log: string) => string,
): () => string {
  // A statement that creates nothing has still locked a row, and is a transaction to be accounted for.
  const condition = event === 'create' ? '' : 'HAVING count(*) > 0'
  const { isFollowed } = database.history
  const insert = insertChanges({ changes: changesSql(resource, event, isFollowed), events: 'count(*)', isFollowed })
  const log = `, logged AS (${insert} FROM ${changed} ${condition})`
  const [logging, removing] = [statement(log), statement(`${log}, removed AS (${REMOVE_OLD_CHANGES})`)]
  let writes = 0
  return () => {
    if (isFollowed) return logging
    writes += 1
    return writes % REMOVAL_INTERVAL === 0 ? removing : logging
  }
}

/** SQL for the changes of all rows, as JSON. Concatenated, since `json_build_object` takes longer than the rest of the log. */
function changesSql<Row extends Values>(
  { table, columns, references, followed }: StoredResource<Row>,
  event: Event,
  isFollowed: boolean,
): string {
  const number = (sql: string) => `' || coalesce(${sql}::text, 'null') || '`
  const text = (sql: string) => `' || coalesce(to_json(${sql})::text, 'null') || '`
  const of = (alias: string) =>
    `{${references.map(({ column }) => `"${column}":${number(`${alias}.${column}`)}`).join(',')}}`
  const before = event === 'create' ? 'null' : of(event.update)
  const values = followed.map(
    column => `"${column}":${(columns[column] === 'text' ? text : number)(`changed.${column}`)}`,
  )
  const told = isFollowed && values.length > 0 ? `,"values":{${values.join(',')}}` : ''
  const change = `'{"table":"${table}","id":${number('changed.id')},"before":${before},"after":${of('changed')}${told}}'`
  return `('[' || coalesce(string_agg(${change}, ','), '') || ']')::json`
}
