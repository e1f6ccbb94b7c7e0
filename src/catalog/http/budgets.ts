import { RequestBodies } from '../../server/request-bodies.ts'
import { BODY_MAX_BYTES } from './validation/request.ts'

/** Limit on the bodies over 64 KiB of all requests in progress. */
const LARGE_BODIES_MAX_BYTES = 67_108_864

/** Limits on a body that creates many resources, on all of them, and on those of one client. */
const BULK_BODY_MAX_BYTES = 8_388_608
const BULK_BODIES_MAX_BYTES = 33_554_432
const BULK_BODIES_OF_CLIENT_MAX_BYTES = 16_777_216

/** Memory that the requests of one service share. */
export class Budgets {
  readonly bodies = new RequestBodies({ bodyMaxBytes: BODY_MAX_BYTES, maxBytes: LARGE_BODIES_MAX_BYTES })
  /** Of requests that create many resources. */
  readonly bulkBodies = new RequestBodies({
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    maxBytes: BULK_BODIES_MAX_BYTES,
    clientMaxBytes: BULK_BODIES_OF_CLIENT_MAX_BYTES,
  })
}
