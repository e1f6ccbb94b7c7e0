/** Clients that keep a process busy. */
const VISITORS = 8

/** Runs `work` while visitors keep the reading process busy, so requests arrive while it works. */
export async function amidVisitors<Result>(
  visits: readonly (() => Promise<unknown>)[],
  work: () => Promise<Result>,
): Promise<Result> {
  let isOver = false
  const visitors = Array.from({ length: VISITORS }, async () => {
    while (!isOver) for (const visit of visits) await visit()
  })
  try {
    return await work()
  } finally {
    isOver = true
    await Promise.all(visitors)
  }
}
