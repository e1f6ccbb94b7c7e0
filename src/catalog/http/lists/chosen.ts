import { z } from '@hono/zod-openapi'
import type { Awaitable } from '../../../awaitable.ts'
import type { Streaming } from '../../../server/streaming.ts'
import { highlightsOf } from '../../search/highlights.ts'
import type { Search } from '../../search/search.ts'
import { ALL_MEMBERS, memberWords } from '../../storage/projection.ts'
import type { StoredResource, Values } from '../../storage/resource.ts'
import type { Representation, ResourceStore, ShownResources } from '../../storage/store.ts'
import { valueList } from '../validation/fields.ts'
import type { Parameters } from '../validation/request.ts'

const FIELDS_MAX = 20

/** The member that is made of the words of a request. */
const HIGHLIGHTS = 'highlights'
/** The members that it is made from. */
const HIGHLIGHTED = ['name', 'description']

/** Items in long texts of which words are looked for take turns of the event loop, one request in each. */
const TURN_MS = 5

/** Changes what is shown of items that were read. */
export type Show = (items: readonly Representation[]) => Awaitable<readonly Representation[]>

/** The parameter that chooses the members of a response. */
export function fieldsParameter<Row extends Values>(resource: StoredResource<Row>) {
  return {
    fields: valueList(z.enum(memberWords(resource)), FIELDS_MAX)
      .optional()
      .describe('The members to return; `*` stands for those that a request without `fields` gets'),
  }
}

/** The resources with the members that a request chooses, and how their items are shown. */
export function withChosen<Row extends Values>(
  store: ResourceStore<Row>,
  { fields }: Parameters,
  streaming: Streaming,
  search: Search | null = null,
): { readonly shown: ShownResources<Row>; readonly show?: Show } {
  if (!Array.isArray(fields)) return { shown: store }
  const names = new Set(fields.map(String))
  if (search === null || !names.has(HIGHLIGHTS)) return { shown: store.showing(names) }
  const hidden = HIGHLIGHTED.filter(name => !names.has(name) && !names.has(ALL_MEMBERS))
  // A cached page of its own: that of the same members without highlights keeps its finished text.
  const needed = new Set([...names, ...HIGHLIGHTED, ...hidden.map(name => `-${name}`)])
  return { shown: store.showing(needed), show: items => highlighted(items, search, hidden, streaming) }
}

/**
 * Fills in the member `highlights` of items, which needs their names and descriptions. `hidden` are those of the two that the
 * client has not asked for.
 */
async function highlighted(
  items: readonly Representation[],
  search: Search,
  hidden: readonly string[],
  streaming: Streaming,
): Promise<readonly Representation[]> {
  const shown: Representation[] = []
  let began = performance.now()
  for (const item of items) {
    shown.push({ ...item, json: withHighlights(item.json, search, hidden) })
    if (performance.now() - began < TURN_MS) continue
    await streaming.ownTurn()
    began = performance.now()
  }
  return shown
}

function withHighlights(json: string, search: Search, hidden: readonly string[]): string {
  const item: Readonly<Record<string, unknown>> = JSON.parse(json)
  const highlights = highlightsOf(search, String(item.name), String(item.description))
  const members = Object.entries({ ...item, highlights }).filter(([name]) => !hidden.includes(name))
  return JSON.stringify(Object.fromEntries(members))
}
