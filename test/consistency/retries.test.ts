import { expect, setDefaultTimeout } from 'bun:test'
import { campaign } from '../harness/campaign.ts'
import { withEachEngine } from '../harness/contract.ts'
import { Process } from './process.ts'
import { Retries } from './retries.ts'

setDefaultTimeout(120_000)

const KILLED_AFTER_MS = 150
const PROCESSES = 2
const KILLS = 2

/** Enough to show that a round did something, even on a busy machine. */
const REQUESTS_MIN = 10

withEachEngine('retries', engine => {
  campaign(
    `clients that repeat requests through two processes on ${engine.name}, of which some are killed, create nothing twice and lose nothing`,
    async ({ rounds }) => {
      for (const _ of rounds(1)) {
        await using database = await engine.freshDatabase()
        await using open = new AsyncDisposableStack()
        const processes: Process[] = []
        for (let place = 0; place < PROCESSES; place += 1) processes.push(open.use(await Process.start(database.url)))
        const addresses = processes.map(process => () => process.address)
        const { violations, requests, replays } = await Retries.run(addresses, async () => {
          for (let killed = 0; killed < KILLS; killed += 1) {
            await Bun.sleep(KILLED_AFTER_MS)
            await processes[killed % PROCESSES]?.killAndStartAgain()
          }
          await Bun.sleep(KILLED_AFTER_MS)
        })
        expect(violations.slice(0, 5)).toEqual([])
        expect(requests).toBeGreaterThan(REQUESTS_MIN)
        expect(replays).toBeGreaterThan(0)
      }
    },
  )
})
