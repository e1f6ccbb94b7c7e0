import { z } from '@hono/zod-openapi'
import { type Awaitable, whenThere } from '../../awaitable.ts'
import type { App, DirectRoutes, Fetch, RequestScope } from '../../server/requests.ts'
import { lazy } from '../../shared.ts'
import type { Claim, KeptAnswer } from '../storage/idempotency/keys.ts'
import type { ResourceName } from '../storage/resource.ts'
import type { Budgets } from './budgets.ts'
import { type Access, guarded, needOf } from './guard.ts'
import { IDEMPOTENCY_KEY } from './idempotency/header.ts'
import type { Idempotency } from './idempotency/keyed-request.ts'
import { invalid, representationResponse } from './responses.ts'
import { isNdjson } from './validation/ndjson-type.ts'
import { prefersStrict, STRICT_HANDLING } from './validation/preference.ts'
import { type Inputs, type ReadValue, type RequestInput, requestReader } from './validation/request.ts'

/** The service: operations, which the runtime's router calls directly, and an app for all other requests. */
export interface Catalog {
  readonly app: App
  readonly operations: DirectRoutes
  /** Of all operations, in the order in which they were added. */
  readonly contracts: AnyContract[]
  /** `null` if anyone may do anything. */
  readonly access: Access | null
  readonly idempotency: Idempotency
  readonly budgets: Budgets
}

/** One operation's contract. It validates requests, types the handler, and appears in both interface descriptions. */
export interface Contract<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>
  extends Inputs<Path, Query, Body> {
  /** The name of the function in FastAPI. Both descriptions derive the id and the summary from it. */
  readonly name: string
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** As in the specification, with `{name}` for a parameter and a final slash for a collection. */
  readonly url: string
  readonly tag: string
  /** Whether the specification does not have it. Then only `/openapi.strict.json` describes it. */
  readonly isFurther?: boolean
  /** For `/openapi.strict.json`, unless the method says it all. */
  readonly description?: string
  /** The body's shape in `/openapi.json`, if the specification uses another one for it. */
  readonly specifiedBody?: z.ZodObject | undefined
  /** The body of a 200. */
  readonly response: z.ZodType
  /** The same with the members that a request chooses, if it can. Made when it is described. */
  readonly chosen?: () => z.ZodType
  /** Says which of its uses need a stronger key than the others, in `/openapi.strict.json`. */
  readonly restricted?: string
  /** The resources that a 404 can name. */
  readonly absent: readonly ResourceName[]
  /** Its description if it streams events; then `response` is the lines of a poll. */
  readonly streams?: string
  /** Answers a body in NDJSON, if the operation takes one. */
  readonly lines?: LinesContract | undefined
}

/** A `POST` of NDJSON to a collection, which creates a resource of each line. */
export interface LinesContract {
  readonly line: z.ZodType
  /** The body of a 200. */
  readonly response: z.ZodType
  readonly handle: (scope: RequestScope) => Awaitable<Response>
}

export type AnyContract = Contract<z.ZodObject, z.ZodObject, z.ZodType>

/**
 * Adds the operation to the service and to its descriptions. The handler gets a request that fulfils the contract. If a `POST`
 * has an `Idempotency-Key`, the handler also gets a claim, to be stored with the resource.
 */
export function operation<Path extends z.ZodObject, Query extends z.ZodObject, Body extends z.ZodType>(
  { app, operations, contracts, access, idempotency, budgets }: Catalog,
  contract: Contract<Path, Query, Body>,
  handler: (input: RequestInput<Path, Query, Body>, scope: RequestScope, claim?: Claim) => Awaitable<Response>,
): void {
  contracts.push(contract)
  // The first request compiles the schemas. Those of all operations would make the start a sixth longer.
  const compiledReader = lazy(() => requestReader(contract))
  const hasBody = !(contract.body instanceof z.ZodUndefined)
  const unkeyed = (request: Request, scope: RequestScope) => {
    const read = compiledReader()
    const answer = (input: ReadValue<RequestInput<Path, Query, Body>>) =>
      'errors' in input ? invalid(input.errors) : handler(input.value, scope)
    const { parameters } = scope.matched
    if (!hasBody) {
      const isStrict = method === 'GET' && prefersStrict(request.headers)
      const answered = whenThere(read(request, parameters, null, isStrict), answer)
      return isStrict ? whenThere(answered, saysStrict) : answered
    }
    return budgets.bodies.answering(request, body =>
      whenThere(
        read(request, parameters, () => body.bytes()),
        answer,
      ),
    )
  }
  const keyed = async (request: Request, scope: RequestScope, key: string) => {
    const respond = ({ answer, revision }: KeptAnswer) =>
      representationResponse(scope, { json: answer, cut: null, revision: revision ?? 0 })
    const begun = await idempotency.begin(key, scope, { mediaType: 'application/json', respond })
    if (begun instanceof Response) return begun
    return budgets.bodies.answering(request, async body => {
      const readBody = () => body.bytes().then(begun.update)
      const input = await compiledReader()(request, scope.matched.parameters, readBody)
      if ('errors' in input) return invalid(input.errors)
      const kept = await begun.kept()
      if (kept) return begun.replay(kept)
      return begun.first(() => handler(input.value, scope, begun.claim()))
    })
  }
  const { url, lines } = contract
  const method = contract.method.toUpperCase()
  const answer: Fetch = (request, scope) => {
    if (lines && isNdjson(request.headers.get('Content-Type'))) return lines.handle(scope)
    const key = method === 'POST' ? request.headers.get(IDEMPOTENCY_KEY) : null
    return key === null ? unkeyed(request, scope) : keyed(request, scope, key)
  }
  const handle = access ? guarded(needOf(url, method, access), answer) : answer
  const route = url.replaceAll(/\{(\w+)\}/g, ':$1')
  operations.set(route, { ...operations.get(route), [method]: handle })
  app.on(method, route, context => handle(context.req.raw, context.env))
}

/** The response to a read whose client asked for strict handling (RFC 7240, 3). A browser shows its page a 304 as the 200 it has kept. */
function saysStrict(response: Response): Response {
  if (response.status === 200 || response.status === 304) response.headers.set('Preference-Applied', STRICT_HANDLING)
  return response
}
