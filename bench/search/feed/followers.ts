/**
 * Follows /events over many connections, in a process of its own. Arguments: the service's address, the number of followers, and
 * a file for the times at which events came.
 */
import type { FollowersReport } from './crowd.ts'

/** Not all at once: a listening socket has a queue of limited length. */
const CONNECT_AT_ONCE = 100

/** How often this process tells how many events have come. */
const REPORT_MS = 100

/** The price tells which change an event is about. */
const PRICE = '"price":'

/** The only event that a follower gets once. */
const READY = 'event: ready'

interface Follower {
  /** The start of a frame whose end has not come yet. */
  rest: string
  isReady: boolean
}

const [address = '', followers = '0', file = ''] = process.argv.slice(2)
const { hostname, port, host } = new URL(address)
const request = `GET /events?types=product HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`
/** Pairs of a price and a time. */
let times = new Float64Array(65_536)
const report: FollowersReport = { ready: 0, events: 0, lost: 0 }

const socket = {
  open: (connection: Bun.Socket<Follower>) => {
    connection.write(request)
  },
  data: ({ data: follower }: Bun.Socket<Follower>, bytes: Buffer) => {
    const now = performance.timeOrigin + performance.now()
    const text = follower.rest + bytes.toString('latin1')
    const end = text.lastIndexOf('\n\n')
    follower.rest = end < 0 ? text : text.slice(end + 2)
    if (end < 0) return
    if (!follower.isReady && text.lastIndexOf(READY, end) >= 0) {
      follower.isReady = true
      report.ready += 1
    }
    let place = text.indexOf(PRICE)
    while (place >= 0 && place < end) {
      note(Number.parseFloat(text.slice(place + PRICE.length, place + PRICE.length + 20)), now)
      place = text.indexOf(PRICE, place + PRICE.length)
    }
  },
  close: () => {
    report.lost += 1
  },
  connectError: () => {
    report.lost += 1
  },
}

process.once('SIGTERM', async () => {
  await Bun.write(file, times.subarray(0, report.events * 2))
  process.exit()
})
setInterval(() => process.send?.(report), REPORT_MS)
for (let connected = 0; connected < Number(followers); connected += CONNECT_AT_ONCE) {
  const connecting = Array.from({ length: Math.min(CONNECT_AT_ONCE, Number(followers) - connected) }, () =>
    Bun.connect<Follower>({ hostname, port: Number(port), data: { rest: '', isReady: false }, socket }).catch(
      () => null,
    ),
  )
  await Promise.all(connecting)
}

function note(price: number, time: number): void {
  if (times.length < (report.events + 1) * 2) {
    const longer = new Float64Array(times.length * 2)
    longer.set(times)
    times = longer
  }
  times[report.events * 2] = price
  times[report.events * 2 + 1] = time
  report.events += 1
}
