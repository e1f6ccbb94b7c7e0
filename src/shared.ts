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
