/** Work that concurrent callers share: a call while it runs gets its promise, whatever its parameters. */
export function shared<Parameters extends unknown[], Result>(
  work: (...parameters: Parameters) => Promise<Result>,
): (...parameters: Parameters) => Promise<Result> {
  let running: Promise<Result> | null = null
  return (...parameters) => {
    running ??= work(...parameters).finally(() => {
      running = null
    })
    return running
  }
}

/**
 * Work whose result must be newer than the call: a call while it runs waits for the next run, which all waiting callers share.
 * `pause` delays each run; calls in the meantime share it.
 */
export function following(work: () => Promise<void>, pause: () => Promise<void> = async () => {}): () => Promise<void> {
  let running = Promise.resolve()
  let next: Promise<void> | null = null
  const run = async () => {
    await running.catch(() => {})
    await pause()
    next = null
    running = work()
    return running
  }
  return () => {
    next ??= run()
    return next
  }
}

/** A value that is made when it is first needed. */
export function lazy<Value>(make: () => Value): () => Value {
  let value: Value | undefined
  return () => {
    value ??= make()
    return value
  }
}

/** Work that is done once: all calls get its promise. A failure is forgotten, so the next call tries again. */
export function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let done: Promise<Result> | null = null
  return () => {
    done ??= work().catch(error => {
      done = null
      throw error
    })
    return done
  }
}
