import { currentTimeline } from '../../tracing/timeline.ts'
import { traceparent } from '../../tracing/trace-context.ts'

/**
 * The comment of sqlcommenter for a statement of a sampled trace; empty for any other statement. It belongs in front of the
 * statement, because `pg_stat_activity` cuts long ones.
 */
export function traceComment(): string {
  const context = currentTimeline()?.span?.context
  return context ? `/*traceparent='${traceparent(context)}'*/ ` : ''
}
