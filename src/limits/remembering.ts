interface Limits<Value> {
  /** Number of results that are kept; then all are dropped. */
  readonly max: number
  /** Longer texts are read each time, because clients choose them. */
  readonly charactersMax: number
  /** Whether a result is kept; by default, each is. */
  readonly keeps?: (value: Value) => boolean
}

/** Caches the results of a function that reads a text, because reading takes much longer than a look-up. */
export function remembering<Value>(
  read: (text: string) => Value,
  { max, charactersMax, keeps = () => true }: Limits<Value>,
): (text: string) => Value {
  const remembered = new Map<string, Value>()
  return text => {
    const known = remembered.get(text)
    if (known !== undefined) return known
    const value = read(text)
    if (text.length > charactersMax || !keeps(value)) return value
    if (remembered.size === max) remembered.clear()
    remembered.set(text, value)
    return value
  }
}
