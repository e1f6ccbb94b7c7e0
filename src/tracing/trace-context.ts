/** The place of a request in a trace of several services (W3C Trace Context). */
export interface TraceContext {
  readonly traceId: string
  /** The caller's span; or ours, in requests that we send. */
  readonly spanId: string
  readonly isSampled: boolean
  /** Other vendors' additions, to be passed on unchanged; `null` if there are none. */
  readonly state: string | null
}

/** Fields that later versions append are ignored. Version ff is forbidden. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

const SAMPLED = 0x01

const STATE_MEMBERS_MAX = 32

/** A key, perhaps with a tenant, and a value. Empty members are allowed. */
const STATE_MEMBER =
  /^(?:(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])?$/

/** Reads `traceparent` and `tracestate`. `null` if there is no trace or the header is malformed. */
export function readTraceContext(headers: Headers): TraceContext | null {
  const header = headers.get('traceparent')
  if (header === null) return null
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || (version === '00' && more !== undefined)) return null
  const isSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0
  return { traceId, spanId, isSampled, state: stateIn(headers.get('tracestate')) }
}

/** For a request that we send. */
export function traceHeaders({ traceId, spanId, isSampled, state }: TraceContext): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
  return { traceparent, ...(state !== null && { tracestate: state }) }
}

/** `null` if it is missing, empty or malformed: then it must not be passed on. */
function stateIn(header: string | null): string | null {
  const members = (header ?? '').split(',').map(member => member.trim())
  const keys = members.filter(member => member !== '').map(member => member.slice(0, member.indexOf('=')))
  const isValid =
    keys.length > 0 &&
    keys.length <= STATE_MEMBERS_MAX &&
    new Set(keys).size === keys.length &&
    members.every(member => STATE_MEMBER.test(member))
  return isValid ? header : null
}
