/** Makes a function that returns true at most once in this time, for example to log what happens with each request. */
export function atMostEvery(milliseconds: number): () => boolean {
  let until = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (now < until) return false
    until = now + milliseconds
    return true
  }
}
