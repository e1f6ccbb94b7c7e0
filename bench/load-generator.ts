import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onGeneratorCore } from './cores.ts'

const SCRIPT = join(import.meta.dir, 'load.lua')

/** An answer that takes longer counts as missing. */
const ANSWER_MAX_SECONDS = 10

/** Requests of one kind: each combines a random path with a random body. */
export interface RequestKind {
  readonly method: string
  readonly paths: readonly string[]
  /** All of the same length in bytes; empty for requests without a body. */
  readonly bodies: readonly string[]
  /** Of all requests of the load, in percent. */
  readonly share: number
  /** Whether each request has an `Idempotency-Key` of its own. */
  readonly keyed?: boolean
}

export interface Load {
  readonly name: string
  readonly kinds: readonly RequestKind[]
  /** Requests each path of the only kind once, in their order. */
  readonly once: boolean
}

/** A load in files that the load generator reads. */
export interface PreparedLoad {
  readonly once: boolean
  /** Number of paths. */
  readonly paths: number
  /** The load generator's arguments. */
  readonly kinds: readonly string[]
}

export interface Pressure {
  readonly connections: number
  readonly seconds: number
  /** The same seed produces the same requests in the same order. */
  readonly seed: number
  /** Requests of a load of single reads that were sent before. */
  readonly sent?: number
  /** Whether the load generator stays on a core of its own. */
  readonly pinned: boolean
  /** The access key to send, if the server asks for one. */
  readonly key?: string | undefined
}

export interface Figures {
  readonly requests: number
  readonly requestsPerSecond: number
  readonly p50Milliseconds: number
  readonly p99Milliseconds: number
  /** The CPU time of the load generator itself. */
  readonly generatorSeconds: number
}

/** Whether wrk is installed. */
export function hasLoadGenerator(): boolean {
  return Bun.which('wrk') !== null
}

export async function prepareLoad(directory: string, { name, kinds, once }: Load): Promise<PreparedLoad> {
  const folder = join(directory, `load-${name}`)
  await mkdir(folder, { recursive: true })
  const words: string[] = []
  for (const [index, { method, share, paths, bodies, keyed = false }] of kinds.entries()) {
    const [pathsFile, bodiesFile] = [join(folder, `paths-${index}`), join(folder, `bodies-${index}`)]
    await writeFile(pathsFile, lines(paths))
    await writeFile(bodiesFile, lines(bodies))
    words.push(method, String(share), pathsFile, bodiesFile, keyed ? 'keyed' : 'plain')
  }
  return { once, paths: kinds[0]?.paths.length ?? 0, kinds: words }
}

/** Drives a server with one thread of wrk over keep-alive connections. Throws if any request fails. */
export async function drive(
  address: string,
  { once, paths, kinds }: PreparedLoad,
  { connections, seconds, seed, sent = 0, pinned, key }: Pressure,
  interrupted: AbortSignal,
): Promise<Figures> {
  interrupted.throwIfAborted()
  const pressure = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '--timeout', `${ANSWER_MAX_SECONDS}s`]
  if (key !== undefined) pressure.push('-H', `Authorization: Bearer ${key}`)
  const requests = [String(seed), once ? 'once' : 'random', String(sent), ...kinds]
  const command = ['wrk', ...pressure, '-s', SCRIPT, address, '--', ...requests]
  const wrk = Bun.spawn([...(pinned ? onGeneratorCore(command) : command)], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    signal: interrupted,
  })
  const [report, complaint] = await Promise.all([wrk.stdout.text(), wrk.stderr.text(), wrk.exited])
  interrupted.throwIfAborted()
  const figures = figuresIn(report, complaint)
  if (once && sent + figures.requests > paths) {
    throw new Error(`all ${paths} paths were requested before the time was over; give fewer --seconds`)
  }
  return { ...figures, generatorSeconds: Number(wrk.resourceUsage()?.cpuTime.total ?? 0) / 1e6 }
}

function figuresIn(report: string, complaint: string): Omit<Figures, 'generatorSeconds'> {
  const [, json] = /^FIGURES (.*)$/m.exec(report) ?? []
  if (json === undefined) throw new Error(`wrk gave no figures: ${complaint.trim() || report.trim()}`)
  const figures: Record<FigureName, number> = JSON.parse(json)
  const { requests, microseconds, p50Microseconds, p99Microseconds, refused, broken } = figures
  if (refused > 0) throw new Error(`${refused} of ${requests} requests were answered with an error status`)
  if (broken > 0) throw new Error(`${broken} of ${requests} requests got no answer (connection, read, write, time)`)
  return {
    requests,
    requestsPerSecond: requests / (microseconds / 1e6),
    p50Milliseconds: p50Microseconds / 1e3,
    p99Milliseconds: p99Microseconds / 1e3,
  }
}

type FigureName = 'requests' | 'microseconds' | 'p50Microseconds' | 'p99Microseconds' | 'refused' | 'broken'

function lines(items: readonly string[]): string {
  return items.map(item => `${item}\n`).join('')
}
