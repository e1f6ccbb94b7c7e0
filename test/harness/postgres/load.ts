import { expect } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../client.ts'
import { sample } from '../samples.ts'
import { until } from '../until.ts'

/** Clients of each kind that work at once. */
const CREATORS = 8
const UPDATERS = 4
const READERS = 4

/** Each of so many products is deleted again by who created it. */
const DELETED_OF = 5

/** What a client waits for after an answer that told it to come back later; less than it was told, to be a burden. */
const PAUSE_MS = 20

const ACTIONS = ['create', 'update', 'delete', 'read', 'list'] as const

const CREATE_PATH = '/products/'
const ALL_PRODUCTS = '/products/?limit=1000000'

const Product = z.object({ id: z.int(), name: z.string(), price: z.number() })

/** An answer that a client got. */
export interface Seen {
  readonly action: (typeof ACTIONS)[number]
  readonly status: number
  readonly retryAfter: string | null
  /** When it came, of `performance.now()`. */
  readonly at: number
  readonly waitedMs: number
}

/** What is known of a product that a client created, by its name, which is its own. */
interface Created {
  status: number
  /** Ids that were acknowledged for it: one at most. */
  id: number | null
  deletion: number | null
}

/** A product whose price counts its versions. */
interface Updated {
  readonly id: number
  /** The last version that was acknowledged. */
  acknowledged: number
  /** Versions that were sent and not acknowledged: each may have been stored, also late. */
  readonly unsure: Set<number>
}

/** Clients that create, update, delete and read products all the time, and remember what they were told. */
export class Load {
  readonly seen: Seen[] = []
  readonly #created = new Map<string, Created>()
  readonly #updated: Updated[] = []
  readonly #clients: readonly Client[]
  readonly #working: Promise<void>[] = []
  readonly #name = crypto.randomUUID()
  #stopped = false
  #sent = 0

  private constructor(addresses: readonly string[]) {
    this.#clients = addresses.map(address => client(() => address))
  }

  /** Starts to work on services of one database, each client on one after the other. */
  static async start(addresses: readonly string[]): Promise<Load> {
    const load = new Load(addresses)
    for (let number = 0; number < UPDATERS; number += 1) {
      const id = await load.#client().create(CREATE_PATH, { ...sample.product, name: `Updated ${number}`, price: 1 })
      load.#updated.push({ id, acknowledged: 1, unsure: new Set() })
    }
    for (let number = 0; number < CREATORS; number += 1) load.#keep(() => load.#create())
    for (const product of load.#updated) load.#keep(() => load.#update(product))
    for (let number = 0; number < READERS; number += 1) load.#keep(() => load.#read())
    await load.succeeded()
    return load
  }

  /** Resolves when actions of each kind have succeeded that were begun from now on. */
  async succeeded(): Promise<void> {
    const begin = performance.now()
    await until(() => ACTIONS.every(action => this.#last(action, 200) >= begin))
  }

  /** Resolves when a read and a write were told, from now on, that the database is not there. */
  async refused(): Promise<void> {
    const begin = performance.now()
    const told = (action: Seen['action']) =>
      this.seen.findLast(seen => seen.action === action && seen.status === 503 && seen.at >= begin) !== undefined
    await until(() => told('read') && (told('create') || told('update')))
  }

  /** Stops when all have their answers. Throws when a client's connection was cut. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  /** Stops after the connections of all clients were cut. */
  async cut(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled(this.#working)
  }

  /** How often each status came. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { status } of this.seen) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  /** Clients have seen success, or been asked to come back: nothing else, since nobody deletes what another works on. */
  expectGoodAnswers(): void {
    for (const { action, status, retryAfter } of this.seen) {
      expect([200, 503], action).toContain(status)
      if (status === 503) expect(retryAfter, action).toMatch(/^[1-9][0-9]*$/)
    }
  }

  /** What was acknowledged is stored, once; what was not is stored once at most. */
  async expectNothingLost(api: Client): Promise<void> {
    const stored = z.array(Product).parse((await api.get(ALL_PRODUCTS)).body)
    const idsByName = Map.groupBy(stored, ({ name }) => name)
    for (const [name, { status, id, deletion }] of this.#created) {
      const ids = idsByName.get(name)?.map(product => product.id) ?? []
      expect(ids.length, `times that ${name} is stored`).toBeLessThanOrEqual(1)
      if (deletion === 200) expect(ids, `${name}, which was deleted`).toEqual([])
      else if (status === 200 && deletion === null) expect(ids, `${name}, which was acknowledged`).toEqual([id ?? 0])
    }
    const byId = new Map(stored.map(product => [product.id, product]))
    for (const { id, acknowledged, unsure } of this.#updated) {
      const version = byId.get(id)?.price ?? 0
      expect([acknowledged, ...unsure], `the version of product ${id}`).toContain(version)
    }
  }

  /** When the last action of a kind was begun that was answered so. */
  #last(action: Seen['action'], status: number): number {
    const last = this.seen.findLast(seen => seen.action === action && seen.status === status)
    return last === undefined ? Number.NEGATIVE_INFINITY : last.at - last.waitedMs
  }

  #keep(work: () => Promise<void>): void {
    const working = async () => {
      while (!this.#stopped) await work()
    }
    const done = working()
    // Who stops the load hears of it.
    done.catch(() => {})
    this.#working.push(done)
  }

  async #create(): Promise<void> {
    this.#sent += 1
    const name = `${this.#name} ${this.#sent}`
    const isDeleted = this.#sent % DELETED_OF === 0
    const created: Created = { status: 0, id: null, deletion: null }
    this.#created.set(name, created)
    const { status, body } = await this.#ask('create', api => api.post(CREATE_PATH, { ...sample.product, name }))
    created.status = status
    if (status !== 200) return
    const { id } = Product.parse(body)
    created.id = id
    if (!isDeleted) return
    created.deletion = 0
    created.deletion = (await this.#ask('delete', api => api.delete(`/products/${id}`))).status
  }

  async #update(product: Updated): Promise<void> {
    const version = Math.max(product.acknowledged, ...product.unsure) + 1
    product.unsure.add(version)
    const body = { ...sample.product, name: `Updated ${product.id}`, price: version }
    const { status } = await this.#ask('update', api => api.put(`/products/${product.id}`, body))
    if (status !== 200) return
    product.acknowledged = version
    product.unsure.delete(version)
  }

  async #read(): Promise<void> {
    const one = this.#updated[this.seen.length % this.#updated.length]
    await this.#ask('read', api => api.get(`/products/${one?.id}`))
    await this.#ask('list', api => api.get('/products/?limit=10'))
  }

  async #ask(action: Seen['action'], question: (api: Client) => ReturnType<Client['get']>) {
    const begin = performance.now()
    const answer = await question(this.#client())
    const at = performance.now()
    this.seen.push({
      action,
      status: answer.status,
      retryAfter: answer.headers.get('Retry-After'),
      at,
      waitedMs: at - begin,
    })
    if (answer.status !== 200) await Bun.sleep(PAUSE_MS)
    return answer
  }

  #client(): Client {
    const one = this.#clients[this.seen.length % this.#clients.length]
    if (one === undefined) throw new Error('a load needs a service')
    return one
  }
}
