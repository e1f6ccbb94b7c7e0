const CHECK_INTERVAL_MS = 1_000

/** Sends this process a SIGTERM when its parent is gone, so that an orphaned server does not hold its port forever. */
export function stopWithParent(parent: number): void {
  const check = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(check)
    process.kill(process.pid, 'SIGTERM')
  }, CHECK_INTERVAL_MS)
  check.unref()
}
