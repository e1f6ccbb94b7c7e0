import type { TraceContext } from './trace-context.ts'

/** A part of the time of an operation. Times are those of `performance.now()`. */
export interface TimedPart {
  readonly name: string
  readonly start: number
  readonly end: number
}

/** The operation that a span measures. */
interface Operation {
  /** Only called if the span is sampled. */
  readonly name: () => string
  readonly kind: 'server' | 'client'
  readonly parent: TraceContext | null
  /** A time of `performance.now()`. */
  readonly start: number
}

/** The result of an operation. */
export interface SpanEnd {
  readonly attributes: Readonly<Record<string, string | number>>
  /** The kind of a failure; `null` if there was none. */
  readonly error: string | null
  /** Each is exported as a span of its own. */
  readonly parts?: readonly TimedPart[]
}

/** An operation in a trace that is sampled. */
export interface Span {
  /** Sent to the services that the operation calls. */
  readonly context: TraceContext
  readonly end: (end: SpanEnd) => void
}

/** Begins and exports spans. */
export interface Tracer {
  /**
   * Begins a span, and a trace if there is no parent. Returns `null` if it is not sampled, which is decided first, because a
   * span takes a hundred times as long.
   */
  readonly begin: (operation: Operation) => Span | null
}
