#!/usr/bin/env node
// Runs the program with the Bun that came with the package, so that a machine needs nothing but Node. Plain JavaScript, as
// Node reads no TypeScript in its packages.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../src/cli.ts', import.meta.url))

/** Until its install script has run, Bun's package holds a script of a few lines instead of the program. */
const PLACEHOLDER_MAX_BYTES = 65_536

/** Of these the program should know. Those of a terminal's job control, such as Ctrl-Z, reach it without us. */
const FORWARDED = /** @type {const} */ (['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])

const PARENT_LOOK_MS = 1_000

const bun = findBun()
if (bun === null) {
  process.stderr.write(
    `stockroom: there is no Bun for ${process.platform} ${process.arch} beside this package; ` +
      'install it again with its optional dependencies, which bring Bun (npm install --include=optional)\n',
  )
  process.exitCode = 1
} else if (process.execve && process.platform !== 'win32') {
  // From Node 22.15 on: the program takes this process over, and nothing stands between it and who started it.
  process.execve(bun, [bun, program, ...process.argv.slice(2)], process.env)
} else {
  runBeside(bun)
}

/**
 * Runs the program as a child, hands signals on to it, and ends as it ends.
 * @param {string} bun
 */
function runBeside(bun) {
  const child = spawn(bun, [program, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, STOCKROOM_LAUNCHER: String(process.pid) },
  })
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal))
  // Under npx a shell is our parent, which dies of a signal without handing it on.
  const parent = process.ppid
  const look = setInterval(() => {
    if (process.env.npm_lifecycle_event === 'npx' && process.ppid !== parent) child.kill('SIGTERM')
  }, PARENT_LOOK_MS)
  child.on('error', error => {
    clearInterval(look)
    process.stderr.write(`stockroom: cannot start ${bun}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (status, signal) => {
    clearInterval(look)
    if (signal === null) {
      process.exitCode = status ?? 1
    } else {
      // The status is for where a process cannot kill itself: the first one of a container.
      process.exitCode = 128 + constants.signals[signal]
      process.removeAllListeners(signal)
      process.kill(process.pid, signal)
    }
  })
}

/** Where Bun is: in its own package, or where that package's install script may not run, in the one for this platform. */
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
 * The packages that may hold Bun for this machine, as @oven/bun-linux-x64 does; the right one of glibc and musl first.
 * @param {string} description of Bun's package
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
