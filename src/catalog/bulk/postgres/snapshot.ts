import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { columnSql } from '../../storage/postgres/rows.ts'
import { longColumns } from '../../storage/shape.ts'
import type { Row, Snapshot } from '../snapshot.ts'

/** Number of rows read at once, unless they are long. */
const ROWS_AT_ONCE = 5_000
const BYTES_AT_ONCE = 1_048_576

export function postgresSnapshot<Result>(
  database: PostgresDatabase,
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  return database.bulk(async query => {
    await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    // The consumer of the rows may be slow.
    await query('SET LOCAL idle_in_transaction_session_timeout = 0')
    return work({
      count: async ({ table }) => {
        const [found] = await query<{ count: number }>(`SELECT count(*)::float8 AS count FROM ${table}`)
        return found?.count ?? 0
      },
      async *rows({ table, columns }) {
        const selected = Object.entries({ id: 'integer' as const, ...columns })
          .map(([name, type]) => `${columnSql('weighed', name, type)} AS ${name}`)
          .join(', ')
        const weight = ['0', ...longColumns(columns).map(name => `octet_length(next.${name})`)].join(' + ')
        const sql = `
          SELECT ${selected} FROM (
            SELECT next.*, sum(${weight}) OVER (ORDER BY id) - (${weight}) AS weight_before
            FROM (SELECT * FROM ${table} WHERE id > $1::bigint ORDER BY id LIMIT ${ROWS_AT_ONCE}) AS next
          ) AS weighed WHERE weight_before < ${BYTES_AT_ONCE} ORDER BY weighed.id`
        for (let lastId: Row[string] = 0; lastId !== null; ) {
          const rows: readonly Row[] = await query<Row>(sql, lastId)
          if (rows.length > 0) yield rows
          lastId = rows.at(-1)?.id ?? null
        }
      },
    })
  })
}
