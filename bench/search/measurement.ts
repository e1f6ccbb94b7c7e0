import { type Durations, durationsOf } from '../durations.ts'
import { PAUSES_EVERY_MS, watchHealth } from '../health.ts'
import type { RunningServer } from '../server-process.ts'
import { ask, askRight, createProducts, nextPage } from './asking.ts'
import type { RequestGroup } from './requests.ts'

/** Reads that lead to a deep page. */
const DEEP_PAGES = 10
const DEEP_LIMIT = 1_000
const BUSY = 503

export interface GroupFigures {
  readonly group: RequestGroup
  readonly durations: Durations
  /** Requests that got a 503. */
  readonly refused: number
  /** The longest round trip of a health check meanwhile, and the most that the main thread worked during one. */
  readonly pause: { readonly clock: number; readonly work: number }
}

/**
 * Measures each request alone. In a last round, health checks are sent meanwhile; its times do not count. A write before each
 * round empties the cache, and a search after it brings the index up to date.
 */
export async function measureGroups(
  server: RunningServer,
  groups: readonly RequestGroup[],
  rounds: number,
  interrupted: AbortSignal,
): Promise<GroupFigures[]> {
  const figures: GroupFigures[] = []
  for (const group of groups) {
    interrupted.throwIfAborted()
    console.error(`  ${group.name}`)
    const paths = group.isDeep ? await deepPages(server.address, group.paths) : group.paths
    await measureRound(server.address, group, paths)
    const taken: (number | null)[] = []
    for (let round = 1; round <= rounds; round++) {
      interrupted.throwIfAborted()
      taken.push(...(await measureRound(server.address, group, paths)))
    }
    const health = await watchHealth(server, PAUSES_EVERY_MS)
    await measureRound(server.address, group, paths)
    const { clock, work } = await health.waits()
    const answered = taken.filter(milliseconds => milliseconds !== null)
    figures.push({
      group,
      durations: durationsOf(answered),
      refused: taken.length - answered.length,
      pause: { clock: clock.worst, work: work.worst },
    })
  }
  return figures
}

let created = 0

/** The milliseconds of each request; null if it got a 503. */
async function measureRound(
  address: string,
  group: RequestGroup,
  paths: readonly string[],
): Promise<(number | null)[]> {
  await createProducts(address, 1, created++)
  await ask(address, '/products/?q=zebra&limit=1')
  const taken: (number | null)[] = []
  for (const path of paths) {
    if (group.created) await createProducts(address, group.created, created++)
    const answer = await ask(address, path)
    if (answer.status !== 200 && answer.status !== BUSY) {
      throw new Error(`GET ${path} was answered with ${answer.status}: ${answer.body.slice(0, 200)}`)
    }
    taken.push(answer.status === BUSY ? null : answer.milliseconds)
  }
  return taken
}

/** Follows each list for some pages; a cursor stays valid with another limit. */
async function deepPages(address: string, lists: readonly string[]): Promise<string[]> {
  const pages: string[] = []
  for (const list of lists) {
    let path = `${list}&limit=${DEEP_LIMIT}&fields=id`
    for (let page = 1; page <= DEEP_PAGES; page++) {
      const next = nextPage(await askRight(address, path))
      if (next === null) break
      path = next
      pages.push(next.replace(`limit=${DEEP_LIMIT}`, 'limit=20').replace(/&fields=[^&]*/, ''))
    }
  }
  return pages
}
