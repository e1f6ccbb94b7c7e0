interface Turns extends Disposable {
  readonly count: () => number
}

/** Counts the turns of this process's event loop, all or those that begin while `isCounted`. */
export function countTurns(isCounted = () => true): Turns {
  let turns = 0
  const turn = () => {
    if (isCounted()) turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  return {
    count: () => turns,
    [Symbol.dispose]: () => clearImmediate(next),
  }
}
