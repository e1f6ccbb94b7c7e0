const PAUSE_MS = 5

/** Waits for a condition, for as long as its test may take. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(PAUSE_MS)
}
