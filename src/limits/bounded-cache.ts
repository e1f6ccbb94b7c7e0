/** A cached value and its approximate size in memory. */
interface Sized {
  readonly bytes: number
}

/** Values of one kind, by key, in two generations. */
export class CachePartition<Key, Value extends Sized> {
  readonly #count: (bytes: number) => void
  #recent = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  constructor(count: (bytes: number) => void) {
    this.#count = count
  }

  /** Moves the value to the recent generation. */
  get(key: Key): Value | undefined {
    const recent = this.#recent.get(key)
    if (recent) return recent
    const older = this.#older.get(key)
    if (older) this.set(key, older)
    return older
  }

  set(key: Key, value: Value): void {
    const replaced = this.#recent.get(key)?.bytes ?? 0
    this.#recent.set(key, value)
    this.#count(value.bytes - replaced)
  }

  /** Begins a new generation and drops the older one. */
  turn(): void {
    this.#older = this.#recent
    this.#recent = new Map()
  }

  clear(): void {
    this.#older = new Map()
    this.#recent = new Map()
  }

  /** Values that were read again count twice, until the next generation. */
  get entries(): number {
    return this.#recent.size + this.#older.size
  }
}

type Partition = Pick<CachePartition<never, Sized>, 'turn' | 'clear' | 'entries'>

/**
 * A cache in memory, limited to `maxBytes` for all its partitions together. When the recent generation has grown to half of
 * that, it becomes the older one, whose values are dropped unless they are read again. A list in order of use would take
 * nearly twice the time.
 */
export class BoundedCache {
  readonly #generationBytes: number
  /** Those that are still in use. */
  readonly #partitions = new Set<WeakRef<Partition>>()
  readonly #unused = new FinalizationRegistry<WeakRef<Partition>>(partition => this.#partitions.delete(partition))
  #recentBytes = 0
  #olderBytes = 0

  constructor(maxBytes: number) {
    this.#generationBytes = maxBytes / 2
  }

  /** The approximate contents: values that were read again count twice, until the next generation. */
  get figures(): { readonly bytes: number; readonly maxBytes: number; readonly entries: number } {
    let entries = 0
    for (const partition of this.#used()) entries += partition.entries
    return { bytes: this.#recentBytes + this.#olderBytes, maxBytes: 2 * this.#generationBytes, entries }
  }

  partition<Key, Value extends Sized>(): CachePartition<Key, Value> {
    const partition = new CachePartition<Key, Value>(bytes => this.#count(bytes))
    const reference = new WeakRef(partition)
    this.#partitions.add(reference)
    this.#unused.register(partition, reference)
    return partition
  }

  clear(): void {
    this.#recentBytes = 0
    this.#olderBytes = 0
    for (const partition of this.#used()) partition.clear()
  }

  *#used(): Generator<Partition> {
    for (const reference of this.#partitions) {
      const partition = reference.deref()
      if (partition) yield partition
    }
  }

  #count(bytes: number): void {
    this.#recentBytes += bytes
    if (this.#recentBytes < this.#generationBytes) return
    this.#olderBytes = this.#recentBytes
    this.#recentBytes = 0
    for (const partition of this.#used()) partition.turn()
  }
}
