import { z } from '@hono/zod-openapi'
import { cursor, pageNumber } from '../validation/fields.ts'

/** The query of a list that is read in pages. `after_id` is in the guide, but not in the interface description. */
export const PageQuery = z.object({ skip: pageNumber(0), limit: pageNumber(100), after_id: cursor() })

/** The query of a list that is always complete, or complete from an id on. */
export const CursorQuery = z.object({ after_id: cursor() })

/** For lists whose length a request cannot limit, according to the specification. */
export const WHOLE_LIST = { skip: 0, limit: Number.MAX_SAFE_INTEGER }

export type PageQuery = z.output<typeof PageQuery>
