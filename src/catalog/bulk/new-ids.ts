import type { NewRow, Refusal, Stored } from './loader.ts'

/**
 * Stores rows of which some have ids. Each must be above all ids so far, also those of deleted rows: a client that pages by
 * `after_id` would miss a lower one. `last` is the highest so far. `store` gets rows that all have ids.
 */
export async function storeNewIds(
  rows: readonly NewRow[],
  last: number,
  store: (rows: readonly NewRow[]) => Promise<Stored> | Stored,
): Promise<Stored> {
  const refused = new Map<number, Refusal>()
  const numbered: NewRow[] = []
  const places: number[] = []
  let highest = last
  for (const [place, row] of rows.entries()) {
    const id = row.id ?? highest + 1
    if (id <= highest) {
      refused.set(place, { column: 'id', reason: 'not new' })
      continue
    }
    highest = id
    numbered.push({ ...row, id })
    places.push(place)
  }
  const stored = await store(numbered)
  for (const [place, refusal] of stored.refused) refused.set(places[place] ?? 0, refusal)
  return { ids: stored.ids, refused }
}
