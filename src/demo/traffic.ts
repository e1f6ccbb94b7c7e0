import { getLogger } from '@logtape/logtape'
import type { Client } from 'stockroom/client'
import { pause, systemClock } from '../clock.ts'
import { believable, opinion } from './goods.ts'
import type { Opened, StockedProduct } from './opening.ts'
import { Random } from './random.ts'

const log = getLogger(['stockroom', 'demo'])

/** The pauses between changes of prices: always, and while the shop is busy. */
const PRICE_MS = 1_600
const BUSY_PRICE_MS = 200
/** The pause between reviews while the shop is busy. */
const BUSY_REVIEW_MS = 500
/** The shop calms down by itself, because somebody may forget it. */
const BUSY_MAX_MS = 600_000

/** The number of products that visitors see first, and the share of changes that is for these, so that nobody waits for one. */
const SHOWN_FIRST = 12
const SHOWN_FIRST_SHARE = 0.6
const BUSY_SHOWN_FIRST_SHARE = 0.25
/** The greatest change of a price from the first one, as a share of it. */
const PRICE_SPREAD = 0.25

/** Other people in the shop: they change prices and write reviews, as any client of the service would. */
export class Traffic implements AsyncDisposable {
  readonly #shop: Client
  readonly #opened: Opened
  readonly #random = new Random(Date.now())
  readonly #stopping = new AbortController()
  #loops: Promise<void>[] = []
  #busyUntil = 0

  constructor(shop: Client, opened: Opened) {
    this.#shop = shop
    this.#opened = opened
  }

  get isBusy(): boolean {
    return systemClock.now() < this.#busyUntil
  }

  set isBusy(isBusy: boolean) {
    this.#busyUntil = isBusy ? systemClock.now() + BUSY_MAX_MS : 0
  }

  start(): void {
    let sinceChangeMs = 0
    this.#loops = [
      this.#repeat(BUSY_PRICE_MS, async () => {
        sinceChangeMs += BUSY_PRICE_MS
        if (!this.isBusy && sinceChangeMs < PRICE_MS) return
        sinceChangeMs = 0
        await this.#changePrice()
      }),
      this.#repeat(BUSY_REVIEW_MS, async () => {
        if (this.isBusy) await this.#review()
      }),
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#loops)
  }

  async #repeat(everyMs: number, action: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await pause(systemClock, everyMs, signal)
      if (signal.aborted) return
      // A visitor may have deleted the product.
      await action().catch(error => log.debug('the traffic has failed: {reason}', { reason: String(error) }))
    }
  }

  async #changePrice(): Promise<void> {
    const { id, good } = this.#someProduct()
    const price = believable(good.price * (1 + (this.#random.next() * 2 - 1) * PRICE_SPREAD))
    await this.#shop.products.edit(id, product => ({ ...product, price }), { signal: this.#stopping.signal })
  }

  async #review(): Promise<void> {
    const { id, good } = this.#someProduct()
    const review = { product_id: id, user_id: this.#random.of(this.#opened.reviewers), ...opinion(good, this.#random) }
    await this.#shop.reviews.create(review, { signal: this.#stopping.signal })
  }

  #someProduct(): StockedProduct {
    const { products } = this.#opened
    const share = this.isBusy ? BUSY_SHOWN_FIRST_SHARE : SHOWN_FIRST_SHARE
    return this.#random.of(this.#random.next() < share ? products.slice(0, SHOWN_FIRST) : products)
  }
}
