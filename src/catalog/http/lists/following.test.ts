import { afterAll, beforeAll, expect, setDefaultTimeout } from 'bun:test'
import { z } from 'zod'
import { campaign } from '../../../../test/harness/campaign.ts'
import { type Client, client } from '../../../../test/harness/client.ts'
import { QUICK_HASHES, withEachEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'
import { startService } from '../../../../test/harness/service.ts'

/** Followers page by `after_id` through two processes while clients create through both. */

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

const CLIENTS = 16
const CREATES_OF_A_CLIENT = 6
/** Hashing a password takes longer than anything else, and only a few may wait for it. */
const CLIENTS_WITH_USERS = 4
const USERS_OF_A_CLIENT = 3

const FOLLOWERS = 4
const PAGE = 25

const Identified = z.array(z.looseObject({ id: z.int() }))

withEachEngine('following lists by after_id', engine => {
  const open = new AsyncDisposableStack()
  let nodes: readonly Client[] = []
  beforeAll(async () => {
    const database = open.use(await engine.freshDatabase())
    const services = await Promise.all(
      [1, 2].map(() => startService(database.url, { flags: FLAGS, environment: QUICK_HASHES })),
    )
    for (const service of services) open.use(service)
    nodes = services.map(service => client(() => service.address))
  })
  afterAll(() => open.disposeAsync())

  const node = (number: number): Client => {
    const one = nodes[number % nodes.length]
    if (one === undefined) throw new Error('no node')
    return one
  }

  /**
   * Lets all clients create at once while followers page through `lists`. Each created item must be in the first list at
   * once, on the other node, and each follower must have seen its whole list, in order.
   */
  const follows = async (
    lists: readonly string[],
    perClient: number,
    create: (api: Client, client: number) => Promise<number>,
    clients = CLIENTS,
  ) => {
    let areCreated = false
    const creating = Array.from({ length: clients }, async (_, which) => {
      for (let time = 0; time < perClient; time += 1) {
        const id = await create(node(which), which)
        const [list] = lists
        expect((await ids(node(which + 1), `${list}?after_id=${id - 1}&limit=1`))[0]).toBe(id)
      }
    })
    const following = lists.flatMap(list =>
      Array.from({ length: FOLLOWERS }, async (_, which) => {
        const seen: number[] = []
        for (let turn = which; ; turn += 1) {
          const wereCreated = areCreated
          const page = await ids(node(turn), `${list}?after_id=${seen.at(-1) ?? 0}&limit=${PAGE}`)
          seen.push(...page)
          if (wereCreated && page.length === 0) return { list, seen }
        }
      }),
    )
    await Promise.all(creating).finally(() => {
      areCreated = true
    })
    for (const { list, seen } of await Promise.all(following)) {
      const all = await ids(node(0), `${list}?limit=1000000`)
      expect(all.length, list).toBeGreaterThanOrEqual(clients * perClient)
      const shown = new Set(seen)
      const missed = all.filter(id => !shown.has(id))
      expect(missed, `missed of ${list}`).toEqual([])
      expect(seen, list).toEqual(all)
    }
  }

  campaign(
    'a client that follows the products by after_id sees each one once and in order, overall and in a category',
    async ({ rounds }) => {
      for (const _ of rounds(1)) {
        const category = await node(0).create('/categories/', sample.category)
        const ofCategory = `/products/${category}/products`
        await follows(['/products/'], CREATES_OF_A_CLIENT, (api, which) =>
          api.create(which % 2 === 0 ? '/products/' : ofCategory, sample.product),
        )
        await follows([ofCategory], CREATES_OF_A_CLIENT, api => api.create(ofCategory, sample.product))
      }
    },
  )

  campaign(
    'a client that follows the reviews by after_id sees each one once and in order, in all their lists',
    async ({ rounds }) => {
      for (const _ of rounds(1)) {
        const product = await node(0).create('/products/', sample.product)
        const user = await node(0).create('/users/', sample.user)
        const lists = ['/reviews/', `/reviews/products/${product}`, `/reviews/users/${user}`]
        lists.push(`/reviews/products/${product}/users/${user}`)
        await follows(lists, CREATES_OF_A_CLIENT / 2, api => api.create('/reviews/', sample.review(product, user)))
      }
    },
  )

  campaign('a client that follows the categories by after_id sees each one once and in order', async ({ rounds }) => {
    for (const _ of rounds(1)) {
      await follows(['/categories/'], CREATES_OF_A_CLIENT, api => api.create('/categories/', sample.category))
    }
  })

  campaign('a client that follows the users by after_id sees each one once and in order', async ({ rounds }) => {
    for (const _ of rounds(1)) {
      await follows(['/users/'], USERS_OF_A_CLIENT, api => api.create('/users/', sample.user), CLIENTS_WITH_USERS)
    }
  })
})

async function ids(api: Client, path: string): Promise<number[]> {
  return Identified.parse((await api.get(path)).body).map(({ id }) => id)
}
