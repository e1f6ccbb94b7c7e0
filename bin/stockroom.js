#!/usr/bin/env node
// Runs the program with the Bun that was installed with the package, so that a machine needs only Node. Plain JavaScript,
// because Node does not run TypeScript inside node_modules.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The program, with flags that keep Bun from taking settings, or code to run, from `.env`, `bunfig.toml` and `tsconfig.json` of the
 * current folder, which may belong to somebody else.
 */
const program = [
  ...['--no-env-file', '--no-install', `--config=${fileURLToPath(new URL('empty.toml', import.meta.url))}`],
  `--tsconfig-override=${fileURLToPath(new URL('../tsconfig.json', import.meta.url))}`,
  fileURLToPath(new URL('../src/cli.ts', import.meta.url)),
]

/** Until its install script has run, Bun's package contains a small placeholder script instead of Bun. */
const PLACEHOLDER_MAX_BYTES = 65_536

/** Signals to pass on. Job control signals, such as those of Ctrl-Z, reach the program by themselves. */
const FORWARDED = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])

const PARENT_CHECK_MS = 1_000

const bun = findBun()
if (bun === null) {
  process.stderr.write(
    `stockroom: Bun for ${process.platform} ${process.arch} is not installed; ` +
      'install stockroom again with its optional dependencies (npm install --include=optional)\n',
  )
  process.exitCode = 1
} else if (process.execve && process.platform !== 'win32') {
  // Since Node 22.15: Bun replaces this process, so nothing stands between the program and its parent.
  process.execve(bun, [bun, ...program, ...process.argv.slice(2)], process.env)
} else {
  runBeside(bun)
}

/**
 * Runs the program as a child process, passes signals on, and exits as it exits.
 * @param {string} bun
 */
function runBeside(bun) {
  const child = spawn(bun, [...program, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, STOCKROOM_LAUNCHER: String(process.pid) },
  })
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal))
  // Under npx our parent is a shell, which a signal kills without passing it on.
  const parent = process.ppid
  const check = setInterval(() => {
    if (process.env.npm_lifecycle_event === 'npx' && process.ppid !== parent) child.kill('SIGTERM')
  }, PARENT_CHECK_MS)
  child.on('error', error => {
    clearInterval(check)
    process.stderr.write(`stockroom: cannot start ${bun}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (status, signal) => {
    clearInterval(check)
    if (signal === null) {
      process.exitCode = status ?? 1
    } else {
      // The status matters if a process cannot kill itself, as the first process of a container.
      process.exitCode = 128 + constants.signals[signal]
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}

/** Finds Bun in its own package or, if that package's install script was not run, in the package for this platform. */
function findBun() {
  const description = resolved(import.meta.url, 'bun/package.json')
  if (description === null) return null
  const installed = join(dirname(description), 'bin', 'bun.exe')
  const { size } = statSync(installed, { throwIfNoEntry: false }) ?? { size: 0 }
  if (size > PLACEHOLDER_MAX_BYTES) return installed
  for (const name of platformPackages(description)) {
    const path = resolved(description, `${name}/package.json`)
    if (path === null) continue
    const executable = join(dirname(path), 'bin', process.platform === 'win32' ? 'bun.exe' : 'bun')
    if (existsSync(executable)) return executable
  }
  return null
}

/**
 * The packages that may contain Bun for this machine, such as @oven/bun-linux-x64; the one for this libc first.
 * @param {string} description path of the package.json of Bun's package
 * @returns {string[]}
 */
function platformPackages(description) {
  const names = Object.keys(JSON.parse(readFileSync(description, 'utf8')).optionalDependencies ?? {})
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const machine = process.arch === 'arm64' ? 'aarch64' : process.arch
  const base = `@oven/bun-${system}-${machine}`
  const order = existsSync('/etc/alpine-release') ? [`${base}-musl`, base] : [base, `${base}-musl`]
  return order.filter(name => names.includes(name))
}

/**
 * @param {string} from
 * @param {string} name
 */
function resolved(from, name) {
  try {
    return createRequire(from).resolve(name)
  } catch {
    return null
  }
}
