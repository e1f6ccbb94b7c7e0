import { join } from 'node:path'
import { type Contestant, NATIVE, peer } from './servers.ts'

const SOURCE = join(import.meta.dir, 'peers', NATIVE)

/** Debian installs the source of Go libraries here. Nothing is downloaded. */
const DEBIAN_GO_PATH = '/usr/share/gocode'

const PACKAGES = 'golang-go golang-github-valyala-fasthttp-dev libsqlite3-dev gcc libc6-dev'

/** Builds the native rival; none if Go or one of its libraries is missing. */
export async function nativeRival(folder: string, interrupted: AbortSignal): Promise<Contestant[]> {
  const program = join(folder, NATIVE)
  const missing = await build(program, interrupted)
  if (missing !== null) {
    console.error(`skipping ${NATIVE}: ${missing} (on Debian: apt-get install ${PACKAGES})`)
    return []
  }
  return [{ ...peer(NATIVE, [program]), kind: 'native' }]
}

/** Returns why it cannot be built. */
async function build(program: string, interrupted: AbortSignal): Promise<string | null> {
  if (Bun.which('go') === null) return 'Go is not installed'
  const compiler = Bun.spawn(['go', 'build', '-o', program, '.'], {
    cwd: SOURCE,
    env: { ...process.env, GO111MODULE: 'off', GOPATH: DEBIAN_GO_PATH, CGO_ENABLED: '1', CGO_CFLAGS: '-O2' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
    signal: interrupted,
  })
  const [complaint, status] = await Promise.all([compiler.stderr.text(), compiler.exited])
  interrupted.throwIfAborted()
  return status === 0 ? null : (complaint.trim().split('\n').at(-1) ?? 'it cannot be compiled')
}

/** The versions that it runs on. */
export function nativeEngines(): string[] {
  const [, version] = /go(\S+)/.exec(Bun.spawnSync(['go', 'version']).stdout.toString().replace('go version', '')) ?? []
  const sqlite = Bun.spawnSync(['pkg-config', '--modversion', 'sqlite3']).stdout.toString().trim()
  return [`Go ${version ?? 'unknown'} (SQLite ${sqlite || 'unknown'})`]
}
