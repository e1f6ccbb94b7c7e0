import { counter, type Family, gauge, histogram, type Labelled, type Sample } from '../metrics/family.ts'
import { type Distribution, Histogram, SECONDS } from '../metrics/histogram.ts'
import type { Listening } from './listen.ts'
import type { Exchange, Observer } from './requests.ts'

/** The labels of requests without a route, and of unusual methods, so that clients cannot add labels. */
const UNMATCHED = 'unmatched'
const OTHER_METHOD = 'other'
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Requests with the same route and method. */
interface Operation {
  readonly seconds: Histogram
  readonly byStatus: Map<number, number>
}

/** Counts a server's requests. One takes about 50 ns. */
export class RequestMetrics implements Observer {
  /** By route and method. */
  readonly #operations = new Map<string, Map<string, Operation>>()

  readonly end = ({ request, scope, target, response, durationMs }: Exchange): void => {
    const isMatched = scope.matched.route === target.route
    const route = isMatched && target.route !== '' ? target.route : UNMATCHED
    const { seconds, byStatus } = this.#operation(route, request.method)
    seconds.observe(durationMs / 1_000)
    byStatus.set(response.status, (byStatus.get(response.status) ?? 0) + 1)
  }

  families(): Family[] {
    const requests: Sample[] = []
    const durations: Labelled<Distribution>[] = []
    for (const [route, methods] of this.#operations) {
      for (const [method, { seconds, byStatus }] of methods) {
        durations.push({ labels: { route, method }, value: seconds })
        for (const [status, value] of byStatus) {
          requests.push({ labels: { route, method, status: String(status) }, value })
        }
      }
    }
    return [
      counter('stockroom_http_requests_total', 'Requests by operation and status.', requests),
      histogram(
        'stockroom_http_request_duration_seconds',
        'Time until the response to a request was there; a stream goes on after that.',
        durations,
      ),
    ]
  }

  #operation(route: string, method: string): Operation {
    const known = this.#operations.get(route)?.get(method)
    if (known) return known
    const label = METHODS.has(method) ? method : OTHER_METHOD
    const methods = this.#operations.get(route) ?? new Map<string, Operation>()
    const operation = methods.get(label) ?? { seconds: new Histogram(SECONDS), byStatus: new Map<number, number>() }
    this.#operations.set(route, methods.set(label, operation))
    return operation
  }
}

/** Metrics of the server's load at this moment. */
export function serverFamilies(server: Listening): Family[] {
  return [
    gauge(
      'stockroom_http_connections_max',
      'How many connections of clients may be open: CONNECTIONS_MAX, or fewer if open files are limited.',
      server.connectionsMax,
    ),
    gauge(
      'stockroom_http_requests_in_progress',
      'Requests that are being answered, streams among them.',
      server.requestsInProgress(),
    ),
    gauge('stockroom_event_streams', 'Event streams that are open.', server.streaming.clients.total),
  ]
}
