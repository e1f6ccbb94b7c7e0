import { setImmediate as turn } from 'node:timers/promises'
import { isJsonObject } from '../../../json-object.ts'
import { highlightsOf } from '../../search/highlights.ts'
import type { Search } from '../../search/search.ts'
import type { Representation } from '../../storage/representation.ts'

/** Items in long texts of which words are looked for take turns of the event loop. */
const TURN_MS = 5

/**
 * Fills in the member `highlights` of items, which needs their names and descriptions. `hidden` are those of the two that the
 * client has not asked for.
 */
export async function highlighted(
  items: readonly Representation[],
  search: Search,
  hidden: readonly string[],
): Promise<readonly Representation[]> {
  const shown: Representation[] = []
  let began = performance.now()
  for (const item of items) {
    shown.push({ ...item, json: withHighlights(item.json, search, hidden) })
    if (performance.now() - began < TURN_MS) continue
    await turn()
    began = performance.now()
  }
  return shown
}

function withHighlights(json: string, search: Search, hidden: readonly string[]): string {
  const item: unknown = JSON.parse(json)
  if (!isJsonObject(item)) return json
  const highlights = highlightsOf(search, String(item.name), String(item.description))
  const members = Object.entries({ ...item, highlights }).filter(([name]) => !hidden.includes(name))
  return JSON.stringify(Object.fromEntries(members))
}
