import { OperatorError } from '../../program/operator-error.ts'
import type { Query } from './pool.ts'

/** A cluster of Citus, as its coordinator knows it. */
interface Cluster {
  /** The number of servers that have shards. */
  readonly servers: number
  /** The number of shards that a table will have. */
  readonly shards: number
}

const HAS_CITUS = "SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS has_citus"

const CLUSTER = `
  SELECT count(*)::float8 AS servers, current_setting('citus.shard_count')::float8 AS shards
  FROM pg_dist_node WHERE shouldhaveshards AND isactive AND noderole = 'primary'`

/** Rejects with an `OperatorError` unless the database can be distributed. */
export async function clusterOf(query: Query, place: string): Promise<Cluster> {
  const [extension] = await query<{ has_citus: boolean }>(HAS_CITUS)
  if (!extension?.has_citus) {
    throw new OperatorError(
      `the database ${place} has no Citus, so its tables cannot be distributed; run CREATE EXTENSION citus on each server`,
    )
  }
  const [cluster] = await query<Cluster>(CLUSTER)
  if (!cluster?.servers) {
    throw new OperatorError(
      `Citus knows no worker for the database ${place}; add each by SELECT citus_add_node('HOST', 5432)`,
    )
  }
  return cluster
}
