import { afterAll, beforeAll, describe, expect, setDefaultTimeout } from 'bun:test'
import fc from 'fast-check'
import { Process } from '../consistency/process.ts'
import { campaign } from '../harness/campaign.ts'
import { lines, NDJSON, postKeyed } from '../harness/catalog/keyed.ts'
import { everything, shelf } from '../harness/catalog/resources.ts'
import { type Client, client } from '../harness/client.ts'
import { ENGINES } from '../harness/engines.ts'
import { sample } from '../harness/samples.ts'

setDefaultTimeout(120_000)

const PROCESSES = 2
/** Few, so that requests meet at the same keys. */
const KEYS = 3
const STEPS_MAX = 30

type Step =
  | { readonly kind: 'send'; readonly key: number; readonly request: number; readonly process: number }
  /** Deletes what the key has created. */
  | { readonly kind: 'delete'; readonly key: number; readonly process: number }
  | { readonly kind: 'kill'; readonly process: number }

const place = fc.integer({ min: 0, max: PROCESSES - 1 })
const key = fc.integer({ min: 0, max: KEYS - 1 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ kind: fc.constant('send' as const), key, request: fc.nat(6), process: place }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('delete' as const), key, process: place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), process: place }) },
)

interface First {
  readonly request: number
  readonly path: string
  readonly text: string
}

for (const engine of ENGINES) {
  describe(`requests with keys through two processes, on ${engine.name}`, () => {
    const open = new AsyncDisposableStack()
    const processes: Process[] = []
    const apis: Client[] = []
    let requests: Awaited<ReturnType<typeof requestsOf>> = []
    beforeAll(async () => {
      const database = open.use(await engine.freshDatabase())
      for (let number = 0; number < PROCESSES; number += 1) {
        const process = open.use(await Process.start(database.url))
        processes.push(process)
        apis.push(client(() => process.address))
      }
      requests = await requestsOf(at(apis, 0))
    })
    afterAll(() => open.disposeAsync())

    campaign(
      `any sequence of requests on ${engine.name} gets each key's first answer, and creates what it says`,
      ({ runs }) =>
        fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: STEPS_MAX }), async steps => {
            const run = crypto.randomUUID()
            const firsts = new Map<number, First>()
            let count = (await everything(at(apis, 0))).flat().length
            for (const next of steps) {
              if (next.kind === 'kill') await at(processes, next.process).killAndStartAgain()
              else if (next.kind === 'send') count += await send(next, firsts, run)
              else count -= await remove(next, firsts)
              expect((await everything(at(apis, 0))).flat().length).toBe(count)
            }
          }),
          runs(15),
        ),
    )

    /** Returns the number of resources that the request must have created. */
    async function send(
      { key, request, process }: Extract<Step, { kind: 'send' }>,
      firsts: Map<number, First>,
      run: string,
    ): Promise<number> {
      const { items, ...sent } = at(requests, request)
      const { status, text, isReplayed } = await postKeyed(at(apis, process), { ...sent, key: `${run}-${key}` })
      const first = firsts.get(key)
      if (items === 0) {
        expect({ status, isReplayed }).toEqual({ status: 422, isReplayed: false })
        return 0
      }
      if (first) {
        const expected =
          first.request === request ? { status: 200, isReplayed: true } : { status: 422, isReplayed: false }
        expect({ status, isReplayed }).toEqual(expected)
        if (isReplayed) expect(text).toBe(first.text)
        return 0
      }
      expect({ status, isReplayed }).toEqual({ status: 200, isReplayed: false })
      firsts.set(key, { request, path: sent.path, text })
      return items
    }

    /** Returns the number of resources that are gone. */
    async function remove(
      { key, process }: Extract<Step, { kind: 'delete' }>,
      firsts: Map<number, First>,
    ): Promise<number> {
      const { path, text } = firsts.get(key) ?? { path: '', text: '{}' }
      const { id }: { id?: number } = JSON.parse(text)
      if (id === undefined) return 0
      const { status } = await at(apis, process).delete(`${path.startsWith('/products') ? '/products/' : path}${id}`)
      return status === 200 ? 1 : 0
    }
  })
}

/** Requests that any key may be sent with, and the number of resources that each creates; 0 if it is wrong. */
async function requestsOf(api: Client) {
  const { categoryId, productId, userId } = await shelf(api)
  return [
    { path: '/products/', body: sample.product, items: 1 },
    { path: '/products/', body: { ...sample.product, price: 1 }, items: 1 },
    { path: `/products/${categoryId}/products`, body: sample.product, items: 1 },
    { path: '/reviews/', body: sample.review(productId, userId), items: 1 },
    { path: '/users/', body: sample.user, items: 1 },
    { path: '/categories/', body: lines(sample.category, sample.category), type: NDJSON, items: 2 },
    { path: '/categories/', body: { name: 'x' }, items: 0 },
  ]
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index]
  if (item === undefined) throw new Error(`there is no item ${index}`)
  return item
}
