import { z } from '@hono/zod-openapi'
import { bearerKey } from '../../access/bearer.ts'
import { allows } from '../../access/key.ts'
import { mustAllow } from '../http/guard.ts'
import { prefersLines } from '../http/lists/negotiation.ts'
import { type Catalog, operation } from '../http/operation.ts'
import { id, valueList } from '../http/validation/fields.ts'
import type { Feed } from './feed.ts'
import { filterOf, isOfUsers, TYPE_WORDS, TYPES } from './filter.ts'
import { Followers } from './followers.ts'
import type { Start } from './frames.ts'
import { eventPlaceIn } from './place.ts'
import { linesResponse, pollResponse } from './poll.ts'

/** Words and ids that a filter may have. */
const TYPES_MAX = 20
const PRODUCTS_MAX = 100

const EVENTS_DEFAULT = 100
const EVENTS_MAX = 1_000
const WAIT_MAX_SECONDS = 60

/** Time for a poll beyond its wait. */
const ANSWER_SECONDS = 30

/** `since` for the oldest event that is kept. */
const OLDEST = 'start'

/** All members that the data of some event has. */
const EventData = z.looseObject({
  id: id.optional(),
  name: z.string().optional(),
  price: z.number().optional(),
  category_id: id.nullable().optional(),
  product_id: id.optional(),
  user_id: id.optional(),
  rating: z.int().optional(),
  from_product_id: id.nullable().optional(),
  product_ids: z.array(id).nullable().optional(),
  count: z.int().optional(),
  first_id: id.optional(),
  last_id: id.optional(),
  resumed: z.boolean().optional(),
  reason: z.enum(['expired', 'unknown']).optional(),
})

const CloudEvent = z
  .object({
    specversion: z.literal('1.0'),
    id: z.string().max(40),
    source: z.literal('/'),
    type: z.enum(TYPES),
    subject: z.string().optional(),
    time: z.iso.datetime(),
    data: EventData,
  })
  .openapi('Event')

const eventsQuery = () =>
  z.object({
    since: z
      .string()
      .optional()
      .describe('The id of the last event that the client has, or `start` for the oldest kept event'),
    types: valueList(z.enum(TYPE_WORDS), TYPES_MAX)
      .optional()
      .describe('Only events of these types, or about these resources. `ready` and `reset` always come.'),
    product_id: valueList(z.int(), PRODUCTS_MAX)
      .optional()
      .describe('Only events about these products and their reviews'),
    wait: z.int().min(0).max(WAIT_MAX_SECONDS).default(0).describe('How many seconds a poll waits for the first event'),
    limit: z.int().min(1).max(EVENTS_MAX).default(EVENTS_DEFAULT).describe('How many events a poll returns at most'),
  })

const ABOUT =
  'Streams what changes, from now or after the event `since`; in NDJSON, answers with the next events, one per line.'

/** `GET /events`: what has changed, as a stream or, in NDJSON, as the next lines. */
export function addEvents(catalog: Catalog, feed: Feed): void {
  const { access } = catalog
  const followers = new Followers(feed, access?.keys ?? null)
  operation(
    catalog,
    {
      name: 'read_events',
      method: 'get',
      url: '/events',
      tag: 'Events',
      path: z.object({}),
      query: eventsQuery,
      body: z.undefined(),
      response: z.array(CloudEvent),
      absent: [],
      isFurther: true,
      streams: ABOUT,
      restricted: 'Events about users need the scope `admin`.',
    },
    async ({ query }, scope) => {
      const includesUsers = access === null || (scope.key !== null && allows(scope.key.scope, 'admin'))
      if (!includesUsers && query.types?.some(isOfUsers)) mustAllow(scope, 'admin')
      const filter = filterOf(query.types, query.product_id, includesUsers)
      const { request } = scope
      const since = request.headers.get('Last-Event-ID') ?? query.since
      const isPoll = prefersLines(request.headers.get('Accept'), 'text/event-stream')
      if (!isPoll) return followers.stream(scope, filter, () => startOf(feed, since))
      scope.allowIdle(query.wait + ANSWER_SECONDS)
      const start = await startOf(feed, since)
      if (since === undefined) return linesResponse(request.url, [], start.place)
      const answer = await pollResponse(feed, request.url, {
        start,
        filter,
        limit: query.limit,
        waitMs: scope.isHead ? 0 : query.wait * 1_000,
        signal: request.signal,
      })
      // Its key may have been revoked while it waited.
      if (access && request.headers.has('Authorization')) {
        mustAllow({ request, key: await bearerKey(request.headers, access.keys) }, 'read')
      }
      return answer
    },
  )
}

async function startOf(feed: Feed, since: string | undefined): Promise<Start> {
  // First, because the log may have been replaced, as by a backup: then what is in memory is not in it.
  await feed.current()
  if (since === OLDEST) return { place: await feed.start(), isResumed: false, reset: null }
  const known = since === undefined ? null : eventPlaceIn(since)
  const found = known ? await feed.find(known) : 'unknown'
  if (typeof found === 'object') return { place: found, isResumed: true, reset: null }
  return { place: feed.end, isResumed: false, reset: since === undefined ? null : found }
}
