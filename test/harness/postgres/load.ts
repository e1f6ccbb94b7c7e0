import { expect } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../client.ts'
import { sample } from '../samples.ts'
import { until } from '../until.ts'

/** How many clients of each kind work at once. */
const CREATORS = 8
const UPDATERS = 4
const READERS = 4

/** One product in this many is deleted again by the client that created it. */
const DELETED_OF = 5

/** Pause of a client after an answer: even so, several requests are on their way at any moment. */
const PAUSE_MS = 15

/** Pause after an answer that asked the client to come back later: shorter than asked, to keep up the load. */
const REFUSED_PAUSE_MS = 20

const ACTIONS = ['create', 'update', 'delete', 'read', 'list'] as const

const CREATE_PATH = '/products/'
const ALL_PRODUCTS = '/products/?limit=1000000'

const Product = z.object({ id: z.int(), name: z.string(), price: z.number() })

/** An answer to a client. */
export interface Seen {
  readonly action: (typeof ACTIONS)[number]
  readonly status: number
  readonly retryAfter: string | null
  /** When it arrived, by `performance.now()`. */
  readonly at: number
  readonly waitedMs: number
}

/** The load's knowledge of a product that a client created under a unique name. */
interface Created {
  status: number
  /** Acknowledged ids: one at most. */
  id: number | null
  deletion: number | null
}

/** A product whose price counts its versions. */
interface Updated {
  readonly id: number
  /** The last acknowledged version. */
  acknowledged: number
  /** Versions sent but not acknowledged: each may have been stored, even late. */
  readonly unsure: Set<number>
}

/** Clients that constantly create, update, delete and read products and remember every answer. */
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

  /** Starts clients on services that share a database; each client uses one service after the other. */
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

  /** Resolves when an action of each kind that starts after this call has succeeded. */
  async succeeded(): Promise<void> {
    const begin = performance.now()
    await until(() => ACTIONS.every(action => this.#last(action, 200) >= begin))
  }

  /** Resolves when a read and a write that start after this call have been told that the database is unavailable. */
  async refused(): Promise<void> {
    const begin = performance.now()
    const told = (action: Seen['action']) =>
      this.seen.findLast(seen => seen.action === action && seen.status === 503 && seen.at >= begin) !== undefined
    await until(() => told('read') && (told('create') || told('update')))
  }

  /** Stops once all clients have their answers. Throws if a client's connection was cut. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#working)
  }

  /** Stops after the connections of all clients were cut. */
  async cut(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled(this.#working)
  }

  /** How often each status occurred. */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const { status } of this.seen) counts[status] = (counts[status] ?? 0) + 1
    return counts
  }

  /** Clients saw only success or a request to come back later, because nobody deletes what another client works on. */
  expectGoodAnswers(): void {
    for (const { action, status, retryAfter } of this.seen) {
      expect([200, 503], action).toContain(status)
      if (status === 503) expect(retryAfter, action).toMatch(/^[1-9][0-9]*$/)
    }
  }

  /** Everything acknowledged is stored exactly once, everything else at most once. */
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

  /** When the last action of a kind with such an answer started. */
  #last(action: Seen['action'], status: number): number {
    const last = this.seen.findLast(seen => seen.action === action && seen.status === status)
    return last === undefined ? Number.NEGATIVE_INFINITY : last.at - last.waitedMs
  }

  #keep(work: () => Promise<void>): void {
    const working = async () => {
      while (!this.#stopped) await work()
    }
    const done = working()
    // The caller that stops the load gets the error.
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
    await Bun.sleep(answer.status === 200 ? PAUSE_MS : REFUSED_PAUSE_MS)
    return answer
  }

  #client(): Client {
    const one = this.#clients[this.seen.length % this.#clients.length]
    if (one === undefined) throw new Error('a load needs a service')
    return one
  }
}
