export interface Arrivals<Item> {
  /** All so far. */
  readonly all: readonly Item[]
  readonly add: (item: Item) => void
  /** No more will come. */
  readonly end: () => void
  readonly isOver: () => boolean
  /** Waits for the first one that was not returned yet. Rejects with the error of `missing` if no more will come. */
  readonly next: () => Promise<Item>
}

/** Collects items as they arrive, for a test that waits for them one by one. */
export function arrivals<Item>(missing = async () => new Error('no more will come')): Arrivals<Item> {
  const all: Item[] = []
  let taken = 0
  let isOver = false
  let changed = Promise.withResolvers<void>()
  const tell = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  return {
    all,
    add: item => {
      all.push(item)
      tell()
    },
    end: () => {
      isOver = true
      tell()
    },
    isOver: () => isOver,
    next: async () => {
      while (taken === all.length && !isOver) await changed.promise
      const item = all[taken]
      if (item === undefined) throw await missing()
      taken += 1
      return item
    },
  }
}
