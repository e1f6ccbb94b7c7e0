const LOOK_MS = 1_000

/** Ends this process as SIGTERM does when its parent is gone, which for a server would otherwise mean to hold its port for ever. */
export function endWithParent(parent: number): void {
  const look = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(look)
    process.kill(process.pid, 'SIGTERM')
  }, LOOK_MS)
  look.unref()
}
