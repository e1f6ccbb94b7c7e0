import { join } from 'node:path'

/** Counters that a process of followers reports. */
export interface FollowersReport {
  /** Followers whose stream has begun. */
  ready: number
  /** Events that came, to all followers together. */
  events: number
  /** Connections that failed or ended. */
  lost: number
}

/** Limit on the followers in one process. */
const FOLLOWERS_PER_PROCESS = 5_000

const CONNECT_MAX_MS = 120_000
const POLL_MS = 50

/** Followers in processes of their own. Disposing ends them. */
export interface Crowd extends AsyncDisposable {
  readonly report: () => FollowersReport
  /** Waits until so many events came in all, or none for so long; returns the number that came. */
  readonly untilReceived: (events: number, patienceMilliseconds: number) => Promise<number>
  /** Ends all followers; returns the times of the events by price. */
  readonly end: () => Promise<Map<number, number[]>>
}

/** Starts followers and waits until the stream of each has begun. */
export async function startCrowd(
  address: string,
  followers: number,
  folder: string,
  interrupted: AbortSignal,
): Promise<Crowd> {
  const processes: { child: Bun.Subprocess; file: string; report: FollowersReport }[] = []
  for (let started = 0; started < followers; started += FOLLOWERS_PER_PROCESS) {
    const file = join(folder, `followers-${crypto.randomUUID()}`)
    const own: FollowersReport = { ready: 0, events: 0, lost: 0 }
    const count = String(Math.min(FOLLOWERS_PER_PROCESS, followers - started))
    const program = [process.execPath, join(import.meta.dir, 'followers.ts'), address, count, file]
    const child = Bun.spawn(program, {
      stdin: 'ignore',
      stdout: 'inherit',
      stderr: 'inherit',
      signal: interrupted,
      ipc: (message: FollowersReport) => Object.assign(own, message),
    })
    processes.push({ child, file, report: own })
  }
  const report = () =>
    processes.reduce(
      (sum, { report: own }) => ({
        ready: sum.ready + own.ready,
        events: sum.events + own.events,
        lost: sum.lost + own.lost,
      }),
      { ready: 0, events: 0, lost: 0 },
    )
  const end = async () => {
    for (const { child } of processes) child.kill('SIGTERM')
    await Promise.all(processes.map(({ child }) => child.exited))
  }
  try {
    await untilAllReady(report, followers, interrupted)
  } catch (error) {
    await end()
    throw error
  }
  return {
    report,
    untilReceived: async (events, patience) => {
      let [known, since] = [report().events, performance.now()]
      while (known < events && performance.now() - since < patience) {
        interrupted.throwIfAborted()
        await Bun.sleep(POLL_MS)
        if (report().events > known) [known, since] = [report().events, performance.now()]
      }
      return known
    },
    end: async () => {
      await end()
      const times = new Map<number, number[]>()
      for (const { file } of processes) collect(new Float64Array(await Bun.file(file).arrayBuffer()), times)
      return times
    },
    [Symbol.asyncDispose]: end,
  }
}

async function untilAllReady(report: () => FollowersReport, followers: number, interrupted: AbortSignal) {
  const begun = performance.now()
  while (report().ready < followers) {
    interrupted.throwIfAborted()
    const { ready, lost } = report()
    if (lost > 0) throw new Error(`${lost} of ${followers} followers lost their connection before their stream began`)
    if (performance.now() - begun > CONNECT_MAX_MS) throw new Error(`only ${ready} of ${followers} streams began`)
    await Bun.sleep(POLL_MS)
  }
}

function collect(pairs: Float64Array, times: Map<number, number[]>): void {
  for (let place = 0; place < pairs.length; place += 2) {
    const [price, time] = [pairs[place], pairs[place + 1]]
    if (price === undefined || time === undefined) continue
    const known = times.get(price)
    if (known) known.push(time)
    else times.set(price, [time])
  }
}
