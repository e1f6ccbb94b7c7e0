import type { Change, ChangeSource } from '../../database/change.ts'
import type { Changes, LoggedChange } from '../../database/postgres/changes.ts'
import { type ChangeRule, changesOf } from './changes.ts'
import type { StoredResource, Values } from './resource.ts'

/** One of this many writes of a node removes old rows. */
const REMOVAL_INTERVAL = 512
/** Transactions whose rows stay in the log. */
const KEPT_TRANSACTIONS = 8_192

const CURRENT_TRANSACTION = 'pg_current_xact_id()::text::bigint'

/** The kind of change to the logged rows; `update` has an alias for the references that the rows had before. */
type Event = 'create' | 'delete' | { readonly update: string }

/**
 * Makes a statement that also logs its changes, unless the server has no log. `statement` takes a further common table
 * expression, which reads the changed rows from the one named `changed`.
 */
export function logged<Row extends Values>(
  changes: Changes,
  resource: StoredResource<Row>,
  event: Event,
  changed: string,
  statement: (log: string) => string,
): () => string {
  const insert = insertion(resource, event, changed)
  const [plain, logging, removing] = [statement(''), statement(insert), statement(insert + REMOVAL)]
  let writes = 0
  return () => {
    if (!changes.areLogged) return plain
    writes += 1
    return writes % REMOVAL_INTERVAL === 0 ? removing : logging
  }
}

const REMOVAL = `,
  removed AS (DELETE FROM change_log WHERE transaction_id < ${CURRENT_TRANSACTION} - ${KEPT_TRANSACTIONS})`

function insertion<Row extends Values>({ table, references }: StoredResource<Row>, event: Event, changed: string) {
  const of = (alias: string) => `json_build_array(${references.map(({ column }) => `${alias}.${column}`).join(', ')})`
  const before = event === 'create' ? 'NULL' : of(event === 'delete' ? 'changed' : event.update)
  const after = event === 'delete' ? 'NULL' : of('changed')
  // A statement that creates nothing has still locked a row, and is a transaction to be accounted for.
  const condition = event === 'create' ? '' : 'HAVING count(*) > 0'
  return `,
  logged AS (
    INSERT INTO change_log (transaction_id, collection, changes)
    SELECT ${CURRENT_TRANSACTION}, '${table}', coalesce(json_agg(json_build_array(changed.id, ${before}, ${after})), '[]')
    FROM ${changed} ${condition}
  )`
}

/** Translates the changes that all nodes have logged, by the rule in `changes.ts`. */
export function loggedChanges(changes: Changes, resources: readonly ChangeRule[]): ChangeSource {
  return {
    onChange: listener =>
      changes.onChange(logs => listener(logs === 'unknown' ? logs : logs.flatMap(log => changesIn(log, resources)))),
    current: look => changes.current(look),
  }
}

function changesIn({ collection, rows }: LoggedChange, resources: readonly ChangeRule[]): Change[] {
  const resource = resources.find(({ table }) => table === collection)
  // A collection that only a newer version of the program knows.
  if (!resource) return []
  const { references } = resource
  const named = (ids: readonly (number | null)[] | null) =>
    ids && Object.fromEntries(references.map(({ column }, place) => [column, ids[place] ?? null]))
  return rows.flatMap(([id, before, after]) => changesOf(resource, id, named(before), named(after)))
}
