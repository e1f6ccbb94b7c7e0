/** Begins to measure a processor time that only grows; the function that comes back tells by how much it has grown. */
export function stopwatch(processorSeconds: () => number | null): () => number | null {
  const before = processorSeconds()
  return () => {
    const now = processorSeconds()
    return before === null || now === null ? null : now - before
  }
}
