/** What both versions have: first that of the version compared with, then that of this one. */
export type Pair<Item> = readonly [before: Item, now: Item]

/** What one turn cost; null where it does not apply, or the system does not tell. */
export interface Cost {
  readonly requestsPerSecond: number | null
  readonly processorMicroseconds: number | null
}

/** A line of the table. Two costs of a pair are measured right after each other. */
export interface Row {
  readonly name: string
  readonly turns: readonly Pair<Cost>[]
}

/** Measures both, turn by turn. Who begins changes each time, so that no place is anyone's. */
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
