/** One item for each of the two versions. */
export type Pair<Item> = readonly [before: Item, now: Item]

/** The cost of one turn; null if it does not apply, or the system does not tell. */
export interface Cost {
  readonly requestsPerSecond: number | null
  readonly processorMicroseconds: number | null
}

/** A row of the table. The two costs of a pair are measured right after each other. */
export interface Row {
  readonly name: string
  readonly turns: readonly Pair<Cost>[]
}

/** Measures both in turn. They take turns in going first, so that position favors neither. */
export async function inTurn<Side, Measured>(
  [before, now]: Pair<Side>,
  turns: number,
  measure: (side: Side, turn: number) => Measured | Promise<Measured>,
): Promise<Pair<Measured>[]> {
  const pairs: Pair<Measured>[] = []
  for (let turn = 1; turn <= turns; turn++) {
    if (turn % 2 === 1) {
      const first = await measure(before, turn)
      pairs.push([first, await measure(now, turn)])
    } else {
      const first = await measure(now, turn)
      pairs.push([await measure(before, turn), first])
    }
  }
  return pairs
}
