import { namedQualityOf, qualityOf } from '../../../server/accept.ts'
import { NDJSON_TYPE } from '../validation/ndjson-type.ts'

/**
 * Whether an `Accept` asks for NDJSON: it names the type, and does not prefer the other one. Every other client gets that, also if
 * it accepts neither.
 */
export function prefersLines(accept: string | null, other = 'application/json'): boolean {
  // Nearly all requests name only the other type, or none.
  if (accept === null || !/x-ndjson/i.test(accept)) return false
  const ofLines = namedQualityOf(NDJSON_TYPE, accept)
  return ofLines > 0 && ofLines >= qualityOf(other, accept)
}
