import { DatabaseUnavailableError } from '../../../database/errors.ts'
import type { PostgresDatabase } from '../../../database/postgres/database.ts'
import { shared } from '../../../shared.ts'

/** How long a worker may take to answer, and how soon a lost one is asked again. */
const ANSWER_MS = 1_000
const CHECK_INTERVAL_MS = 1_000

const WORKERS = `
  SELECT groupid::float8 AS id, nodename AS host, nodeport AS port FROM pg_dist_node
  WHERE noderole = 'primary' AND isactive AND groupid > 0`

const LIMITS = `
  SELECT set_config('citus.node_connection_timeout', '${ANSWER_MS}', true), set_config('statement_timeout', '${ANSWER_MS}', true)`

const ANSWERS = 'SELECT citus_check_connection_to_node($1::text, $2::integer) AS answers'

/** SQL for the worker that has the row of a product. It asks no worker. */
export function workerOf(productId: string): string {
  return `(
    SELECT groupid::float8 FROM pg_dist_placement
    WHERE shardid = get_shard_id_for_distribution_column('products', ${productId}::bigint)
  )`
}

interface Worker {
  readonly id: number
  readonly host: string
  readonly port: number
}

/** Knows the workers that do not answer, as far as this has been noticed. */
export class LostWorkers {
  readonly #database: PostgresDatabase
  #ids: ReadonlySet<number> = new Set()
  #checkedAt = Number.NEGATIVE_INFINITY

  constructor(database: PostgresDatabase) {
    this.#database = database
  }

  /** Those that were lost when they were last asked. If there are any, they are asked again in the background. */
  get ids(): ReadonlySet<number> {
    if (this.#ids.size > 0 && performance.now() - this.#checkedAt > CHECK_INTERVAL_MS) void this.check()
    return this.#ids
  }

  /** Asks all workers. If the coordinator does not answer either, nothing is known. Concurrent callers share it. */
  readonly check = shared(() =>
    this.#check().catch((error: unknown) => {
      if (!(error instanceof DatabaseUnavailableError)) throw error
    }),
  )

  async #check(): Promise<void> {
    const workers = await this.#database.readPrimary<Worker>(WORKERS)
    const answers = await Promise.all(workers.map(worker => this.#answers(worker)))
    this.#ids = new Set(workers.filter((_, place) => !answers[place]).map(({ id }) => id))
    this.#checkedAt = performance.now()
  }

  async #answers({ host, port }: Worker): Promise<boolean> {
    try {
      const [, [worker]] = await this.#database.transaction(ask =>
        Promise.all([ask(LIMITS), ask<{ answers: boolean }>(ANSWERS, host, port)]),
      )
      return worker?.answers === true
    } catch {
      return false
    }
  }
}
