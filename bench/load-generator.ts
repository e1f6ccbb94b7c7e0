import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const SCRIPT = join(import.meta.dir, 'load.lua')

/** An answer that takes longer counts as missing. */
const ANSWER_MAX_SECONDS = 10

/** Requests to send: each combines a random path with a random body. */
export interface Load {
  readonly name: string
  readonly method: string
  readonly paths: readonly string[]
  /** All of the same length in bytes; empty for requests without a body. */
  readonly bodies: readonly string[]
}

/** A load in files that the load generator reads. */
export interface PreparedLoad {
  readonly method: string
  readonly pathsFile: string
  readonly bodiesFile: string
}

export interface Pressure {
  readonly connections: number
  readonly seconds: number
  /** The same seed produces the same requests in the same order. */
  readonly seed: number
}

export interface Figures {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p99Milliseconds: number
  /** The CPU time of the load generator itself. */
  readonly generatorSeconds: number
}

/** Whether wrk is installed. */
export function hasLoadGenerator(): boolean {
  return Bun.which('wrk') !== null
}

export async function prepareLoad(directory: string, { name, method, paths, bodies }: Load): Promise<PreparedLoad> {
  const folder = join(directory, `load-${name}`)
  await mkdir(folder, { recursive: true })
  const prepared = { method, pathsFile: join(folder, 'paths'), bodiesFile: join(folder, 'bodies') }
  await writeFile(prepared.pathsFile, lines(paths))
  await writeFile(prepared.bodiesFile, lines(bodies))
  return prepared
}

/** Drives a server with one thread of wrk over keep-alive connections. Throws if any request fails. */
export async function drive(
  address: string,
  { method, pathsFile, bodiesFile }: PreparedLoad,
  { connections, seconds, seed }: Pressure,
  interrupted: AbortSignal,
): Promise<Figures> {
  interrupted.throwIfAborted()
  const pressure = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', `${ANSWER_MAX_SECONDS}s`]
  const wrk = Bun.spawn(
    ['wrk', ...pressure, '-s', SCRIPT, address, '--', method, pathsFile, bodiesFile, String(seed)],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe', signal: interrupted },
  )
  const [report, complaint] = await Promise.all([wrk.stdout.text(), wrk.stderr.text(), wrk.exited])
  interrupted.throwIfAborted()
  return { ...figuresIn(report, complaint), generatorSeconds: Number(wrk.resourceUsage()?.cpuTime.total ?? 0) / 1e6 }
}

function figuresIn(report: string, complaint: string): Omit<Figures, 'generatorSeconds'> {
  const [, json] = /^FIGURES (.*)$/m.exec(report) ?? []
  if (json === undefined) throw new Error(`wrk gave no figures: ${complaint.trim() || report.trim()}`)
  const { requests, microseconds, p99Microseconds, refused, broken }: Record<FigureName, number> = JSON.parse(json)
  if (refused > 0) throw new Error(`${refused} of ${requests} requests were answered with an error status`)
  if (broken > 0) throw new Error(`${broken} of ${requests} requests got no answer (connection, read, write, time)`)
  return {
    requests,
    requestsPerSecond: requests / (microseconds / 1e6),
    p99Milliseconds: p99Microseconds / 1e3,
  }
}

type FigureName = 'requests' | 'microseconds' | 'p99Microseconds' | 'refused' | 'broken'

function lines(items: readonly string[]): string {
  return items.map(item => `${item}\n`).join('')
}
