interface Turns extends Disposable {
  readonly count: () => number
}

/** More promises than any code awaits one after the other without waiting for something else. */
const PROMISES = 100

/** Lets all code go on that waits for nothing but promises, while the event loop does not turn. */
export async function allPromises(): Promise<void> {
  for (let passed = 0; passed < PROMISES; passed += 1) await Promise.resolve()
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
