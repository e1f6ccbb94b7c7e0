import { z } from 'zod'
import { sample } from '../harness/samples.ts'
import { type Ask, onKeptConnection, onNewConnections, type Reply } from './connections.ts'
import { type FeedFollower, followFeed } from './feed.ts'
import type { Follower, Lists, Registers } from './history.ts'
import { ALL_REVIEWS, allReviewsSources, listKey, listSources, type Source, sourcesOfRegister } from './sources.ts'

const REGISTERS = 4
const REGISTER_READERS = 6
const APPENDERS = 4
const LIST_READERS = 4
const CREATORS = 4
const FOLLOWERS_OF_A_LIST = 2
const FOLLOWERS_OF_THE_FEED = 2

/** A product shows its first 100 reviews; a list that is read there must not reach that. */
const LIST_ITEMS_MAX = 80

/** The list of all reviews is read until it is so long: it is a stream by then, and each read costs its length. */
const ALL_REVIEWS_MAX = 3_000

const PAGE_ITEMS_MAX = 40

/** A client whose request failed waits a little, as the service may be starting again. */
const FAILED_PAUSE_MS = 100

const Identified = z.object({ id: z.int() })

/** The requests of all clients and their answers. */
export interface Observations {
  readonly registers: Registers
  readonly lists: Lists
  readonly followed: readonly { readonly followers: readonly Follower[]; readonly acknowledgedIds: readonly number[] }[]
  readonly feed: readonly FeedFollower[]
  /** Requests that had no answer with status 200. */
  readonly failures: readonly string[]
}

export interface WorkloadOptions {
  /** Asked for at each request, as a server that was killed comes back at another address. */
  readonly addresses: readonly (() => string)[]
  readonly durationMs: number
  /** How long a client waits at most before it asks again. */
  readonly pauseMaxMs: number
  /** Interferes with the services once the clients are at work; they must be up at its end. */
  readonly disturb: () => Promise<void>
}

interface Register {
  readonly id: number
  readonly sources: readonly Source<number>[]
  value: number
  /** The `ETag` that the next write expects; `null` after a write without an answer. */
  tag: string | null
}

interface CategoryOfCreators {
  readonly id: number
  readonly ids: number[]
}

/**
 * Clients that write and read one store through several addresses at once, over connections of every kind, and write down
 * what they did and were told.
 */
export class Workload {
  readonly #addresses: readonly (() => string)[]
  readonly #pauseMaxMs: number
  readonly #registers: Registers = { writes: [], reads: [] }
  readonly #lists: Lists = { appends: [], reads: [] }
  readonly #failures: string[] = []
  readonly #followers = new Map<string, Follower[]>()
  readonly #feedFollowers: FeedFollower[] = []
  readonly #productIds: number[] = []
  readonly #reviewIds: number[] = []
  #userId = 0
  #list = { productId: 0, items: 0 }
  readonly #listIds: number[] = []
  #clients = 0
  #appends = 0
  #isWriting = true
  #isReading = true

  private constructor({ addresses, pauseMaxMs }: WorkloadOptions) {
    this.#addresses = addresses
    this.#pauseMaxMs = pauseMaxMs
  }

  /** Works on an empty store until the time is over, nothing disturbs it any more, and every follower has come to the end. */
  static async run(options: WorkloadOptions): Promise<Observations> {
    return new Workload(options).#run(options)
  }

  async #run({ durationMs, disturb }: Pick<WorkloadOptions, 'durationMs' | 'disturb'>): Promise<Observations> {
    this.#userId = await this.#created('/users/', sample.user)
    await this.#beginList()
    const registers = await this.#createRegisters()
    const category: CategoryOfCreators = { id: await this.#created('/categories/', sample.category), ids: [] }
    const writing = [
      ...registers.map(register => this.#repeat(client => this.#writeRegister(client, register))),
      ...times(APPENDERS, () => this.#repeat(client => this.#append(client))),
      ...times(CREATORS, () => this.#repeat(() => this.#create(category))),
    ]
    const reading = [
      ...times(REGISTER_READERS, () => this.#keepReading(client => this.#readRegister(client, registers))),
      ...times(LIST_READERS, () => this.#keepReading(client => this.#readList(client))),
      ...['/products/', '/reviews/', `/products/${category.id}/products`].flatMap(path =>
        times(FOLLOWERS_OF_A_LIST, () => this.#follow(path)),
      ),
      ...times(FOLLOWERS_OF_THE_FEED, () => this.#followFeed()),
    ]
    await Promise.all([Bun.sleep(durationMs), disturb()])
    this.#isWriting = false
    await Promise.all(writing)
    this.#isReading = false
    await Promise.all(reading)
    await this.#readAllAtTheEnd(registers)
    const followersOf = (path: string) => this.#followers.get(path) ?? []
    return {
      registers: this.#registers,
      lists: this.#lists,
      followed: [
        { followers: followersOf('/products/'), acknowledgedIds: this.#productIds },
        { followers: followersOf('/reviews/'), acknowledgedIds: this.#reviewIds },
        { followers: followersOf(`/products/${category.id}/products`), acknowledgedIds: category.ids },
      ],
      feed: this.#feedFollowers,
      failures: this.#failures,
    }
  }

  async #createRegisters(): Promise<Register[]> {
    const categoryId = await this.#created('/categories/', sample.category)
    const registers: Register[] = []
    for (let number = 0; number < REGISTERS; number += 1) {
      const id = await this.#created(`/products/${categoryId}/products`, { ...sample.product, price: 1 })
      this.#productIds.push(id)
      const reviewId = await this.#firstReviewOf(id)
      this.#listIds.push(id)
      const key = `product ${id}`
      this.#registers.writes.push({
        client: 0,
        key,
        value: 1,
        invokedAt: 0,
        acknowledgedAt: performance.now(),
        source: 'any address',
      })
      registers.push({ id, value: 1, tag: null, sources: sourcesOfRegister(key, id, categoryId, reviewId) })
    }
    return registers
  }

  /** A register is read in lists of its reviews, so it must have one. */
  async #firstReviewOf(productId: number): Promise<number> {
    for (;;) {
      const id = await this.#appendTo(0, productId)
      if (id !== null) return id
      await Bun.sleep(FAILED_PAUSE_MS)
    }
  }

  /**
   * Writes through one address and reads at all others as soon as that is acknowledged. Each write expects the last one that
   * is known. Otherwise a write without an answer might undo later ones: the database may do what a killed process has sent
   * it long after that is dead, and `fetch` repeats a `PUT` when its connection is closed.
   */
  async #writeRegister(client: number, register: Register): Promise<void> {
    const tag = register.tag ?? (await this.#tagOf(register))
    register.value += 1
    const place = this.#anyPlace()
    const { id, value } = register
    const write = { client, key: `product ${id}`, value, source: `address ${place}`, invokedAt: performance.now() }
    const reply = await this.#ask(place)('PUT', `/products/${id}`, { ...sample.product, price: value }, tag)
    register.tag = 'body' in reply ? reply.tag : null
    this.#registers.writes.push({ ...write, acknowledgedAt: this.#timeOf(reply) })
    await this.#readEverywhereElse(place, other =>
      this.#read(client, other, pick(register.sources), this.#registers.reads),
    )
  }

  async #tagOf({ id }: Register): Promise<string> {
    for (;;) {
      const reply = await this.#ask(this.#anyPlace())('GET', `/products/${id}`)
      await this.#pauseAfter(reply)
      if ('body' in reply && reply.tag !== null) return reply.tag
    }
  }

  async #readRegister(client: number, registers: readonly Register[]): Promise<void> {
    await this.#read(client, this.#anyPlace(), pick(pick(registers).sources), this.#registers.reads)
  }

  async #append(client: number): Promise<void> {
    if (this.#list.items >= LIST_ITEMS_MAX) await this.#beginList()
    this.#list.items += 1
    const { productId } = this.#list
    const place = this.#anyPlace()
    await this.#appendTo(client, productId, place)
    await this.#readEverywhereElse(place, other =>
      this.#read(client, other, listSources(productId)[0], this.#lists.reads),
    )
  }

  async #appendTo(client: number, productId: number, place = this.#anyPlace()): Promise<number | null> {
    this.#appends += 1
    const value = `${client}-${this.#appends}`
    const invokedAt = performance.now()
    const review = { ...sample.review(productId, this.#userId), comment: value }
    const reply = await this.#ask(place)('POST', '/reviews/', review)
    const append = { client, value, invokedAt, acknowledgedAt: this.#timeOf(reply), source: `address ${place}` }
    this.#lists.appends.push({ ...append, key: listKey(productId) }, { ...append, key: ALL_REVIEWS })
    if (!('body' in reply)) return null
    const { id } = Identified.parse(reply.body)
    this.#reviewIds.push(id)
    return id
  }

  async #readList(client: number): Promise<void> {
    const all = this.#appends < ALL_REVIEWS_MAX ? allReviewsSources(this.#userId) : []
    const source = pick([...listSources(this.#list.productId), ...listSources(this.#list.productId), ...all])
    await this.#read(client, this.#anyPlace(), source, this.#lists.reads)
  }

  async #beginList(): Promise<void> {
    // Nobody appends to it before it is there; of several clients that come at once, each may begin one.
    const productId = await this.#created('/products/', sample.product)
    this.#productIds.push(productId)
    this.#list = { productId, items: 0 }
    this.#listIds.push(productId)
  }

  async #create(category: CategoryOfCreators): Promise<void> {
    const isOfCategory = Math.random() < 0.5
    const path = isOfCategory ? `/products/${category.id}/products` : '/products/'
    const reply = await this.#ask(this.#anyPlace())('POST', path, sample.product)
    this.#timeOf(reply)
    if (!('body' in reply)) return
    const { id } = Identified.parse(reply.body)
    this.#productIds.push(id)
    if (isOfCategory) category.ids.push(id)
  }

  /** Follows until all is written and a page after that is empty. */
  async #follow(path: string): Promise<void> {
    this.#clients += 1
    const follower: Follower = { source: `client ${this.#clients}, following ${path}`, ids: [] }
    this.#followers.set(path, [...(this.#followers.get(path) ?? []), follower])
    for (;;) {
      const isLast = !this.#isReading
      const limit = 1 + Math.floor(Math.random() * PAGE_ITEMS_MAX)
      const ask = this.#ask(this.#anyPlace())
      const reply = await ask('GET', `${path}?after_id=${follower.ids.at(-1) ?? 0}&limit=${limit}`)
      await this.#pauseAfter(reply)
      if (!('body' in reply)) continue
      const page = z.array(Identified).parse(reply.body)
      follower.ids.push(...page.map(({ id }) => id))
      if (isLast && page.length === 0) return
      if (page.length < limit) await this.#pause()
    }
  }

  #followFeed(): Promise<void> {
    this.#clients += 1
    const follower: FeedFollower = { source: `client ${this.#clients}, following the feed`, frames: [] }
    this.#feedFollowers.push(follower)
    return followFeed(follower, {
      anyAddress: () => this.#addresses[this.#anyPlace()]?.() ?? '',
      isGoingOn: () => this.#isReading,
    })
  }

  async #read<Value>(
    client: number,
    place: number,
    { key, path, shown }: Source<Value>,
    reads: { client: number; key: string; value: Value; invokedAt: number; completedAt: number; source: string }[],
  ): Promise<void> {
    const invokedAt = performance.now()
    const reply = await this.#ask(place)('GET', path)
    await this.#pauseAfter(reply)
    if (!('body' in reply)) return
    const completedAt = performance.now()
    reads.push({ client, key, value: shown(reply.body), invokedAt, completedAt, source: `address ${place}, ${path}` })
  }

  async #readEverywhereElse(place: number, read: (place: number) => Promise<void>): Promise<void> {
    for (const other of this.#addresses.keys()) if (other !== place) await read(other)
  }

  async #readAllAtTheEnd(registers: readonly Register[]): Promise<void> {
    const sources = [...allReviewsSources(this.#userId), ...this.#listIds.flatMap(listSources)]
    for (const place of this.#addresses.keys()) {
      for (const source of registers.flatMap(register => register.sources))
        await this.#read(0, place, source, this.#registers.reads)
      for (const source of sources) await this.#read(0, place, source, this.#lists.reads)
    }
  }

  async #repeat(work: (client: number) => Promise<void>): Promise<void> {
    this.#clients += 1
    const client = this.#clients
    while (this.#isWriting) {
      await work(client)
      await this.#pause()
    }
  }

  async #keepReading(work: (client: number) => Promise<void>): Promise<void> {
    this.#clients += 1
    const client = this.#clients
    while (this.#isReading) {
      await work(client)
      await this.#pause()
    }
  }

  async #pause(): Promise<void> {
    if (this.#pauseMaxMs > 0) await Bun.sleep(Math.random() * this.#pauseMaxMs)
  }

  async #created(path: string, body: unknown): Promise<number> {
    for (;;) {
      const reply = await this.#ask(this.#anyPlace())('POST', path, body)
      await this.#pauseAfter(reply)
      if ('body' in reply) return Identified.parse(reply.body).id
    }
  }

  /** When a write was acknowledged; `null` when it was not. */
  #timeOf(reply: Reply): number | null {
    if ('body' in reply) return performance.now()
    this.#failures.push(reply.failure)
    return null
  }

  async #pauseAfter(reply: Reply): Promise<void> {
    if ('body' in reply) return
    this.#failures.push(reply.failure)
    await Bun.sleep(FAILED_PAUSE_MS)
  }

  #anyPlace(): number {
    return Math.floor(Math.random() * this.#addresses.length)
  }

  #ask(place: number): Ask {
    const address = this.#addresses[place]
    if (!address) throw new Error(`no address ${place}`)
    return pick([onNewConnections, onKeptConnection])(address)
  }
}

function pick<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('nothing to pick from')
  return item
}

function times<Item>(count: number, make: () => Item): Item[] {
  return Array.from({ length: count }, make)
}
