import { spawn } from 'bun'

/** A process that stops a server and removes its folder when its standard input ends. */
export type Guard = ReturnType<typeof startGuard>

/**
 * Its input ends with the test process at the latest, so no server is left when tests are killed.
 *
 * @param processFile whose first line is the server's process id, as long as it runs
 */
export function startGuard(folder: string, processFile: string) {
  const script = `
    trap '' INT TERM HUP
    cat > /dev/null
    if server=$(head -n 1 "$2" 2> /dev/null) && kill -QUIT "$server" 2> /dev/null; then
      kill -CONT "$server"
      while kill -0 "$server" 2> /dev/null; do sleep 0.02; done
    fi
    rm -rf "$1"`
  const guard = spawn(['sh', '-c', script, 'sh', folder, processFile], {
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  guard.unref()
  return guard
}
