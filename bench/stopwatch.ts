/** Starts measuring CPU time; the returned function tells how much was used since. */
export function stopwatch(processorSeconds: () => number | null): () => number | null {
  const before = processorSeconds()
  return () => {
    const now = processorSeconds()
    return before === null || now === null ? null : now - before
  }
}
