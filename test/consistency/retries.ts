import { z } from 'zod'
import { lines, NDJSON, postKeyed } from '../harness/catalog/keyed.ts'
import { client } from '../harness/client.ts'
import { sample } from '../harness/samples.ts'

const CLIENTS = 12

/** A client that gives up waits at most so long; most answers come later than some of these times. */
const PATIENCE_MS = [1, 2, 4, 8, 5_000] as const

/** Part of the requests whose clients never ask again. */
const ABANDONED_PART = 0.1
/** Part of the answers that are asked for once more. */
const AGAIN_PART = 0.5

/** A client whose request failed waits a little, as the service may be starting again. */
const FAILED_PAUSE_MS = 20

/** Statuses after which a client may repeat its request. */
const REPEATABLE: ReadonlySet<number> = new Set([409, 503])

const Created = z.union([
  z.object({ id: z.int() }).transform(({ id }) => [id]),
  z.object({ created: z.int(), ids: z.array(z.int()) }).transform(({ ids }) => ids),
])
const Items = z.array(z.object({ id: z.int(), name: z.string().optional(), comment: z.string().optional() }))

/** A request that a client sends, and repeats until it is answered. */
interface Sent {
  readonly key: string
  readonly path: string
  readonly body: unknown
  readonly type: string
  /** Number of resources that it creates. */
  readonly items: number
  /** All answers with status 200. */
  readonly answers: { readonly text: string; readonly isReplayed: boolean }[]
}

/** Clients that create through several addresses, with keys, and repeat their requests until they are answered. */
export class Retries {
  readonly #addresses: readonly (() => string)[]
  readonly #random: () => number
  readonly #sent: Sent[] = []
  readonly #unexpected: string[] = []
  #review = sample.review(0, 0)
  #isRunning = true

  private constructor(addresses: readonly (() => string)[], random: () => number) {
    this.#addresses = addresses
    this.#random = random
  }

  /**
   * Runs the clients while `disturb` interferes with the services, which must be up at its end. Resolves to what was wrong, and
   * how many requests there were.
   */
  static async run(addresses: readonly (() => string)[], disturb: () => Promise<void>, random = Math.random) {
    return new Retries(addresses, random).#run(disturb)
  }

  async #run(disturb: () => Promise<void>): Promise<{ violations: string[]; requests: number; replays: number }> {
    const api = client(this.#addresses[0] ?? (() => ''))
    this.#review = sample.review(
      await api.create('/products/', sample.product),
      await api.create('/users/', sample.user),
    )
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (this.#isRunning) await this.#create()
    })
    await disturb()
    this.#isRunning = false
    await Promise.all(clients)
    const idsByName = await this.#stored()
    const violations = [...this.#unexpected, ...this.#sent.flatMap(sent => violationsOf(sent, idsByName))]
    const answers = this.#sent.flatMap(sent => sent.answers)
    return { violations, requests: this.#sent.length, replays: answers.filter(({ isReplayed }) => isReplayed).length }
  }

  async #create(): Promise<void> {
    const sent = this.#request()
    this.#sent.push(sent)
    const isAbandoned = this.#random() < ABANDONED_PART
    if (isAbandoned) return this.#send(sent)
    while (sent.answers.length === 0) {
      await this.#send(sent)
      if (sent.answers.length === 0) await Bun.sleep(FAILED_PAUSE_MS)
    }
    if (this.#random() < AGAIN_PART) await this.#send(sent)
  }

  #request(): Sent {
    const key = crypto.randomUUID()
    const product = { ...sample.product, name: key }
    const review = { ...this.#review, comment: key }
    const json = 'application/json'
    const forms = [
      { path: '/products/', body: product, type: json, items: 1 },
      { path: '/reviews/', body: review, type: json, items: 1 },
      { path: '/categories/', body: { ...sample.category, name: key }, type: json, items: 1 },
      { path: '/products/', body: lines(product, product, product), type: NDJSON, items: 3 },
    ] as const
    return { key, ...this.#oneOf(forms), answers: [] }
  }

  async #send(sent: Sent): Promise<void> {
    const address = this.#oneOf(this.#addresses)
    const signal = AbortSignal.timeout(this.#oneOf(PATIENCE_MS))
    try {
      const { status, text, isReplayed } = await postKeyed({ address }, sent, signal)
      if (status === 200) sent.answers.push({ text, isReplayed })
      else if (!REPEATABLE.has(status)) this.#unexpected.push(`${sent.path}: ${status} ${text}`)
    } catch {
      // The service was killed, or the client has lost its patience. It does not know whether anything was created.
    }
  }

  /** The ids of all resources by the key that created them. */
  async #stored(): Promise<Map<string, number[]>> {
    const api = client(this.#addresses[0] ?? (() => ''))
    const ids = new Map<string, number[]>()
    for (const path of ['/categories/', '/products/', '/reviews/']) {
      const { body } = await api.get(`${path}?limit=1000000`)
      for (const { id, name, comment } of Items.parse(body)) {
        const key = comment ?? name ?? ''
        ids.set(key, [...(ids.get(key) ?? []), id])
      }
    }
    return ids
  }

  #oneOf<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#random() * items.length)]
    if (item === undefined) throw new Error('nothing to choose from')
    return item
  }
}

function violationsOf(
  { key, path, items, answers }: Sent,
  idsByName: ReadonlyMap<string, readonly number[]>,
): string[] {
  const ids = idsByName.get(key) ?? []
  const [first, ...others] = answers
  if (!first) return ids.length === 0 || ids.length === items ? [] : [`${path} created ${ids.length} of ${items}`]
  const told = Created.parse(JSON.parse(first.text))
  return [
    ...(ids.join() === told.join() ? [] : [`${path} was told of ${told.join()}, but there are ${ids.join()}`]),
    ...others.filter(({ text }) => text !== first.text).map(({ text }) => `${path} got ${first.text} and ${text}`),
    ...(answers.filter(({ isReplayed }) => !isReplayed).length > 1 ? [`${path} got two first answers`] : []),
  ]
}
