import { z } from '@hono/zod-openapi'
import { cursor, pageNumber } from '../validation/fields.ts'

/** The query of a list that is read in pages. `after_id` is told of in the guide, not in the interface description. */
export const PageQuery = z.object({ skip: pageNumber(0), limit: pageNumber(100), after_id: cursor() })

/** The query of a list that always comes whole, or from a certain id on. */
export const CursorQuery = z.object({ after_id: cursor() })

/** For lists whose length the specification does not let a request limit. */
export const WHOLE_LIST = { skip: 0, limit: Number.MAX_SAFE_INTEGER }

export type PageQuery = z.output<typeof PageQuery>
