import { Database } from 'bun:sqlite'
import { expect, setDefaultTimeout } from 'bun:test'
import { copyFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { campaign } from '../../test/harness/campaign.ts'
import { type Client, client } from '../../test/harness/client.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, type Service, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']
const ROUNDS = 2
const WRITERS = 8

/** Products that are acknowledged before the backup, and after it, at least. */
const ACKNOWLEDGED = 30

campaign('a database is restored amid writes, with forgotten processes, and has what the backup has', async effort => {
  using folder = temporaryFolder()
  const shop = new Shop(folder.path)
  for (const round of effort.rounds(ROUNDS)) {
    // In turn, so that the short campaign has both.
    if (round % 2 === 0) await shop.restoreByCommand()
    else await shop.restoreByCopy()
  }
})

class Shop {
  readonly #folder: string
  readonly #file: string
  readonly #backup: string
  readonly #database: string

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'shop.db')
    this.#backup = join(folder, 'backup.db')
    this.#database = `sqlite:${this.#file}`
  }

  /** As the guide says. While a process is forgotten, the command refuses, and nothing is lost. */
  async restoreByCommand(): Promise<void> {
    await using service = await this.#start()
    await using forgotten = await this.#start()
    const writing = new Writing(service)
    const inBackup = await this.#backUpAmid(writing)
    expect(await this.#restore()).toMatchObject({ status: 1 })
    await service.stop(anyEnd())
    expect(await this.#restore()).toMatchObject({ status: 1 })
    await forgotten.stop(anyEnd())
    const acknowledged = await writing.end()
    const made = await this.#restoreWhileOneStarts()
    expectAll(idsIn(this.#file), [...inBackup, ...made])
    expect(idsIn(this.#file).filter(id => !made.includes(id))).toEqual(idsIn(this.#backup))
    const kept = readdirSync(this.#folder).filter(name => /^shop\.db\.replaced-[^-]+-[^-]+-[^-]+$/.test(name))
    expect(kept).toHaveLength(1)
    expectAll(idsIn(join(this.#folder, kept[0] ?? '')), acknowledged)
    this.#removeAllBut('shop.db')
  }

  /** Returns the ids that were given after the restore. The service may be first; then the command refuses, and is repeated. */
  async #restoreWhileOneStarts(): Promise<readonly number[]> {
    const [restored, starting] = await Promise.all([this.#restore(), this.#start()])
    await using successor = starting
    const made = await client(() => successor.address).create('/products/', sample.product)
    await successor.stop(anyEnd())
    if (restored.status === 0) return [made]
    expect(await this.#restore()).toMatchObject({ status: 0, errors: '' })
    return []
  }

  /** In the way that the guide forbids. */
  async restoreByCopy(): Promise<void> {
    await using service = await this.#start()
    await using forgotten = await this.#start()
    const writing = new Writing(service)
    const inBackup = await this.#backUpAmid(writing)
    for (const companion of ['-wal', '-shm']) rmSync(this.#file + companion)
    copyFileSync(this.#backup, this.#file)
    const late = await client(() => service.address).post('/products/', sample.product)
    expect(late).toMatchObject({ status: 503 })
    await writing.end()
    const ends = [service, forgotten].map(one => () => one.stop(anyEnd()))
    for (const end of Math.random() < 0.5 ? ends : ends.toReversed()) await end()
    expectAll(idsIn(this.#file), inBackup)
    expect(idsIn(this.#file)).toEqual(idsIn(this.#backup))
    this.#removeAllBut('shop.db')
  }

  #start(): Promise<Service> {
    return startService(this.#database, { flags: FLAGS })
  }

  /** Returns the ids that were acknowledged before the backup began. Writes go on after it. */
  async #backUpAmid(writing: Writing): Promise<readonly number[]> {
    await writing.acknowledges(ACKNOWLEDGED)
    const before = writing.acknowledgedSoFar()
    expect(await run(['backup', '--database', this.#database, this.#backup])).toMatchObject({ status: 0 })
    await writing.acknowledges(ACKNOWLEDGED)
    return before
  }

  #restore(): ReturnType<typeof run> {
    return run(['restore', '--database', this.#database, this.#backup])
  }

  #removeAllBut(kept: string): void {
    for (const name of readdirSync(this.#folder)) if (name !== kept) rmSync(join(this.#folder, name))
  }
}

/** Clients that create products until the service refuses or is gone. */
class Writing {
  readonly #acknowledged: number[] = []
  readonly #clients: Promise<void>[]

  constructor(service: Service) {
    const api = client(() => service.address)
    this.#clients = Array.from({ length: WRITERS }, () => this.#write(api))
  }

  acknowledgedSoFar(): readonly number[] {
    return [...this.#acknowledged]
  }

  async acknowledges(more: number): Promise<void> {
    const count = this.#acknowledged.length + more
    await until(() => this.#acknowledged.length >= count)
  }

  async end(): Promise<readonly number[]> {
    await Promise.all(this.#clients)
    return this.#acknowledged
  }

  async #write(api: Client): Promise<void> {
    for (;;) {
      const answer = await api.post('/products/', sample.product).catch(() => null)
      if (answer?.status !== 200) return
      this.#acknowledged.push(Number(Object(answer.body).id))
    }
  }
}

function anyEnd(): 'SIGTERM' | 'SIGKILL' {
  return Math.random() < 0.5 ? 'SIGTERM' : 'SIGKILL'
}

/** The ids of all products of a sound database. */
function idsIn(file: string): number[] {
  using database = new Database(file)
  expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  return database
    .query<{ id: number }, []>('SELECT id FROM products ORDER BY id')
    .all()
    .map(({ id }) => id)
}

function expectAll(found: readonly number[], acknowledged: readonly number[]): void {
  const present = new Set(found)
  expect(acknowledged.filter(id => !present.has(id))).toEqual([])
}
