import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawnSync } from 'bun'
import { idOf, listOf } from '../../test/harness/catalog/resources.ts'
import { executableIn } from '../../test/harness/executable.ts'
import { freePort } from '../../test/harness/free-port.ts'
import { scrape } from '../../test/harness/metrics.ts'
import { childrenOf } from '../../test/harness/process-tree.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { sample } from '../../test/harness/samples.ts'
import { run, SOURCE, type Surroundings, startService } from '../../test/harness/service.ts'
import { type Shop, startShop } from '../../test/harness/shop.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

/** So many new connections that no worker is left out. */
const CONNECTIONS = 64

const WRITERS = 16

const WITHOUT_ACCESS_LOG = ['--access-log', 'off']

describe.skipIf(process.platform !== 'linux')('several workers', () => {
  let port = 0
  /** The service of all tests that neither stop it nor need settings of their own. */
  let shop: Shop
  beforeAll(async () => {
    port = await freePort()
    shop = await startWorkers(2, ['--port', String(port), '--worker-timeout', '2', '--admin-port', '0'])
  })
  afterAll(() => shop[Symbol.asyncDispose]())

  test('workers tell once where they serve, and all of them answer there', async () => {
    await until(() => shop.service.output().includes('seed'))
    await askOften(shop, '/readyz')
    await until(() => workersOf(shop, '/readyz').size === 2)
    expect(shop.service.output().match(/serves the store catalog/g)).toHaveLength(1)
    expect(shop.service.output().match(/The catalog is empty/g)).toHaveLength(1)
    expect(shop.service.output().match(/shows operators its status/g)).toHaveLength(1)
    expect(shop.service.output().trimEnd().split('\n')).toHaveLength(3)
  })

  test('workers may listen on a port that is given, and each shows what another one stored', async () => {
    expect(new URL(shop.service.address).port).toBe(String(port))
    for (let price = 1; price <= 20; price += 1) {
      const id = await shop.api.create('/products/', { ...sample.product, price })
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => shop.api.get(`/products/${id}`, { Connection: 'close' })),
      )
      for (const { body } of answers) expect(body).toEqual({ id, ...sample.product, price, reviews: [] })
    }
  })

  test('each line of the log is whole and says its worker, though all write at once and the reader is slow', async () => {
    const slowly = ['bash', '-c', 'exec "$@" 2> >(sleep 1; exec cat >&2)', 'bash']
    await using shop = await startWorkers(2, [], { through: slowly })
    const path = `/products/?${'x'.repeat(10)}`
    // Together they are several times what a pipe holds.
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (let asked = 0; asked < 50; asked += 1) await shop.api.get(path, { 'X-Request-Id': `i${'d'.repeat(120)}` })
      }),
    )
    expect(await shop.service.stop()).toBe(0)
    await until(() => shop.lines().filter(({ path }) => path === '/products/').length === WRITERS * 50)
    expect(workersOf(shop, '/products/')).toEqual(new Set([1, 2]))
  })

  test('a worker that is killed amid writes loses nothing that was acknowledged, and another takes its place', async () => {
    await using shop = await startWorkers(2, WITHOUT_ACCESS_LOG)
    const acknowledged: number[] = []
    for (let killed = 1; killed <= 2; killed += 1) {
      let isOver = false
      const writers = Array.from({ length: WRITERS }, async () => {
        while (!isOver) {
          const answer = await shop.api.post('/products/', sample.product).catch(() => null)
          // Only the connections of the killed worker are lost.
          if (answer !== null) expect(answer.status).toBe(200)
          if (answer !== null) acknowledged.push(idOf(answer.body))
        }
      })
      const before = acknowledged.length
      await until(() => acknowledged.length > before + 100)
      process.kill(workerProcesses(shop)[0] ?? 0, 'SIGKILL')
      // The other worker goes on.
      const atKill = acknowledged.length
      await until(() => acknowledged.length > atKill + 100)
      isOver = true
      await Promise.all(writers)
      await until(() => linesWith(shop, 'serves again').length === killed)
    }
    expect(linesWith(shop, 'was killed by SIGKILL')).toHaveLength(2)
    const stored = new Set((await listOf(shop.api, '/products/?limit=1000000')).map(({ id }) => id))
    expect(acknowledged.filter(id => !stored.has(id))).toEqual([])
    expect(new Set(acknowledged).size).toBe(acknowledged.length)
    expect(await shop.service.stop()).toBe(0)
  })

  test('a worker that hangs is logged, and replaced when its time is over', async () => {
    await shop.api.create('/products/', sample.product)
    const metricOf = async (name: string) => (await scrape(shop.service)).value(name)
    await until(async () => {
      const newLines = linesSince(shop)
      const before = await metricOf('stockroom_workers_killed_total')
      const [hung = 0, other] = workerProcesses(shop)
      process.kill(hung, 'SIGSTOP')
      await until(() => newLines('has not answered for').length === 1)
      const answering = await metricOf('stockroom_workers_answering')
      await until(() => newLines('serves again').length === 1)
      expect(newLines('did not answer for 2 s and was killed; restarting it')).toHaveLength(1)
      expect(workerProcesses(shop)[0]).toBe(other ?? 0)
      expect(workerProcesses(shop)).not.toContain(hung)
      expect(await metricOf('stockroom_workers_answering')).toBe(2)
      expect(await metricOf('stockroom_workers_killed_total')).toBe(before + 1)
      await askOften(shop, '/products/1')
      // If the machine pauses, another worker may answer before this asks.
      return answering === 1
    })
  })

  test('no worker is replaced after all processes were suspended, or if it answers again in time', async () => {
    await until(async () => {
      const newLines = linesSince(shop)
      const workers = workerProcesses(shop)
      const [silent = 0] = workers
      const all = [shop.service.processId, ...workers]
      for (const id of all) process.kill(id, 'SIGSTOP')
      await Bun.sleep(2_200)
      for (const id of all) process.kill(id, 'SIGCONT')
      process.kill(silent, 'SIGSTOP')
      await until(() => newLines('has not answered for').length === 1)
      // If the machine has paused this process, it may be too late.
      if (isRunning(silent)) process.kill(silent, 'SIGCONT')
      await until(() => newLines('answers again').length + newLines('serves again').length === 1)
      await askOften(shop, '/readyz')
      return workerProcesses(shop).every((id, place) => id === workers[place])
    })
  })

  test('the pause before a worker is started again doubles while it keeps dying', async () => {
    await using shop = await startWorkers(2)
    const [stable] = workerProcesses(shop)
    for (let killed = 1; killed <= 4; killed += 1) {
      const dying = workerProcesses(shop).find(id => id !== stable)
      process.kill(dying ?? 0, 'SIGKILL')
      await until(() => linesWith(shop, 'serves again').length === killed)
      expect((await shop.api.get('/readyz', { Connection: 'close' })).status).toBe(200)
    }
    const pauses = linesWith(shop, 'restarting it in').map(({ pause_ms }) => pause_ms)
    expect(pauses).toEqual([100, 200, 400, 800])
  })

  test('a stop signal lets requests of all workers finish, and leaves everything in the database file', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      await using shop = await startWorkers(2, WITHOUT_ACCESS_LOG)
      const answered: number[] = []
      const writers = Array.from({ length: WRITERS }, async () => {
        for (;;) {
          const answer = await shop.api.post('/products/', sample.product).catch(() => null)
          if (answer?.status !== 200) return
          answered.push(idOf(answer.body))
        }
      })
      await until(() => answered.length > 100)
      expect(await shop.service.stop(signal), signal).toBe(0)
      await Promise.all(writers)
      expect(workerProcesses(shop)).toEqual([])
      expect(
        linesWith(shop, 'stopping')
          .map(({ worker }) => worker)
          .sort(),
      ).toEqual([1, 2])
      expect(await Bun.file(`${shop.file}-wal`).exists()).toBe(false)
      using file = new Database(shop.file, { readonly: true })
      const stored = file
        .query<{ id: number }, []>('SELECT id FROM products')
        .all()
        .map(({ id }) => id)
      expect(answered.filter(id => !stored.includes(id))).toEqual([])
    }
  })

  test('a stop during which every worker crashes is a failure', async () => {
    await using shop = await startWorkers(2)
    const workers = workerProcesses(shop)
    const areAll = (state: RegExp) => () => workers.every(id => state.test(readFileSync(`/proc/${id}/status`, 'utf8')))
    for (const id of workers) process.kill(id, 'SIGSTOP')
    await until(areAll(/^State:\s+T/m))
    const stopped = shop.service.stop()
    // The signal to stop waits for each of them.
    await until(areAll(/^ShdPnd:\s+0*4000$/m))
    for (const signal of ['SIGABRT', 'SIGCONT'] as const) for (const id of workers) process.kill(id, signal)
    expect(await stopped).toBe(1)
    expect(shop.service.errors()).toEndWith('stockroom: no worker has ended in order; the log says why\n')
  })

  test('a signal to the whole process group, as Ctrl-C sends it, stops the workers in order', async () => {
    await using shop = await startWorkers(2)
    for (const id of [shop.service.processId, ...workerProcesses(shop)]) process.kill(id, 'SIGINT')
    expect(await shop.service.stop('SIGINT')).toBe(0)
    expect(linesWith(shop, 'was killed')).toEqual([])
  })

  test('a closed terminal, which sends SIGHUP to all processes, stops the workers in order, but not under nohup', async () => {
    await using shop = await startWorkers(2)
    for (const id of [shop.service.processId, ...workerProcesses(shop)]) process.kill(id, 'SIGHUP')
    expect(await shop.service.stop('SIGHUP')).toBe(0)
    expect(linesWith(shop, 'was killed')).toEqual([])
    await using lasting = await startWorkers(2, [], { through: ['nohup'] })
    const workers = workerProcesses(lasting)
    for (const id of [lasting.service.processId, ...workers]) process.kill(id, 'SIGHUP')
    await askOften(lasting, '/readyz')
    expect(workerProcesses(lasting)).toEqual(workers)
    expect(await lasting.service.stop()).toBe(0)
  })

  test('workers do not outlive their supervisor', async () => {
    await using shop = await startWorkers(2)
    const left = workerProcesses(shop)
    expect(left).toHaveLength(2)
    await shop.service.stop('SIGKILL')
    await until(() => left.every(id => !isRunning(id)))
    expect(await fetch(shop.service.address).catch(() => 'gone')).toBe('gone')
  })

  test('what stops one process at its start stops several workers with the same status and one line', async () => {
    using folder = temporaryFolder()
    const notes = join(folder.path, 'notes.txt')
    writeFileSync(notes, 'This is a text, and a text of more than a few words is no database.'.repeat(100))
    using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const place = ['serve', '--workers', '2', '--host', '127.0.0.1']
    const onFile = (path: string) => ['--database', `sqlite:${join(folder.path, path)}`]
    const refusals = [
      [[...place, '--port', '0', ...onFile('a.db'), '--cache-bytes', 'much'], 2, /--cache-bytes: "much"/],
      [[...place, '--port', '0', '--database', 'nonsense'], 2, /--database: not a database address/],
      [[...place, '--port', '0', ...onFile('notes.txt')], 1, /notes\.txt is not a database/],
      [[...place, '--port', '0', ...onFile('notes.txt/shop.db')], 1, /cannot open the database/],
      [[...place, '--port', String(taken.port), ...onFile('b.db')], 1, /is in use.*--port/],
    ] as const
    for (const [argv, status, reason] of refusals) expectRefusal(await run(argv), { status, reason }, argv.join(' '))
    expect(await Bun.file(join(folder.path, 'b.db')).exists()).toBe(false)
  })

  test('a wrong time limit of workers stops the start of one process, too', async () => {
    for (const workers of ['1', '2']) {
      const argv = ['serve', '--workers', workers, '--database', 'nonsense']
      const refused = await run(argv, { environment: { WORKER_TIMEOUT: '10s' } })
      expectRefusal(refused, { status: 2, reason: /WORKER_TIMEOUT: "10s" is not a whole number/ }, workers)
    }
  })

  test('a second service is refused the port of several workers, whether it has workers or not', async () => {
    for (const workers of ['1', '2']) {
      const argv = ['serve', '--workers', workers, '--host', '127.0.0.1', '--port', String(port)]
      const refused = await run([...argv, '--database', `sqlite:${shop.file}.other`])
      expectRefusal(refused, { status: 1, reason: /is in use/ }, workers)
    }
  })

  test('of two services with workers that start at once on one port, one is refused', async () => {
    using folder = temporaryFolder()
    const flags = ['--workers', '2', '--port', String(await freePort())]
    const starts = await Promise.allSettled(
      ['one', 'other'].map(name => startService(`sqlite:${join(folder.path, name)}`, { flags })),
    )
    for (const start of starts) if (start.status === 'fulfilled') await start.value.stop()
    expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(String(starts.find(start => start.status === 'rejected')?.reason)).toMatch(/is in use.*--port/)
  })

  test('flags may end with --', async () => {
    await using shop = await startWorkers(2, ['--'])
    expect(workerProcesses(shop)).toHaveLength(2)
  })

  test('when no worker serves any more and none can start, the service ends with the reason', async () => {
    await using shop = await startWorkers(2)
    for (const name of ['', '-wal', '-shm']) renameSync(`${shop.file}${name}`, `${shop.file}.old${name}`)
    writeFileSync(shop.file, 'no database'.repeat(1_000))
    for (const id of workerProcesses(shop)) process.kill(id, 'SIGKILL')
    await until(() => !isRunning(shop.service.processId))
    expect(await shop.service.stop()).toBe(1)
    expect(shop.service.errors()).toMatch(/^stockroom: .*shop\.db is not a database\n/m)
  })

  test('bounds of the whole service are shared among its workers', async () => {
    await using shop = await startWorkers(2, ['--connections-max', '21'])
    const sockets = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => {
        const { hostname, port } = new URL(shop.service.address)
        return Bun.connect({ hostname, port: Number(port), socket: { data: () => {} } }).catch(() => null)
      }),
    )
    await until(() => linesWith(shop, 'new ones are refused').length === 2)
    for (const socket of sockets) socket?.end()
    expect(linesWith(shop, 'new ones are refused').map(({ max }) => max)).toEqual([11, 11])
  })

  test('with auto, there is one worker for each core that the program may use', async () => {
    await using shop = await startWorkers('auto', [], { through: ['taskset', '--cpu-list', '0'] })
    expect(workerProcesses(shop)).toEqual([])
    await using all = await startWorkers('auto')
    const cores = navigator.hardwareConcurrency
    expect(workerProcesses(all)).toHaveLength(cores === 1 ? 0 : cores)
  })

  test.skipIf(navigator.hardwareConcurrency === 1)(
    'with auto, a worker is started again even if the program may use fewer cores by then',
    async () => {
      await using shop = await startWorkers('auto')
      spawnSync(['taskset', '--all-tasks', '--pid', '--cpu-list', '0', String(shop.service.processId)])
      process.kill(workerProcesses(shop).at(-1) ?? 0, 'SIGKILL')
      await until(() => linesWith(shop, 'serves again').length === 1)
    },
  )

  test('workers run from the source, too', async () => {
    await using shop = await startWorkers(2, [], { program: SOURCE })
    expect(workerProcesses(shop)).toHaveLength(2)
    expect(await shop.api.create('/products/', sample.product)).toBe(1)
    expect(await shop.service.stop()).toBe(0)
  })

  test('workers run from the executable, and go on if it is deleted while one has to be started again', async () => {
    using folder = temporaryFolder()
    const executable = await executableIn(folder.path)
    await using shop = await startWorkers(2, [], { program: [executable] })
    expect(workerProcesses(shop)).toHaveLength(2)
    // npx would fetch another program of this name.
    await until(() => shop.service.output().includes('The catalog is empty: `stockroom seed '))
    expect(await shop.api.create('/products/', sample.product)).toBe(1)
    // As an upgrade does it, but without a new one in its place.
    unlinkSync(executable)
    process.kill(workerProcesses(shop)[0] ?? 0, 'SIGKILL')
    await until(() => linesWith(shop, 'cannot start worker').length >= 2)
    expect(await shop.api.create('/products/', sample.product)).toBe(2)
    expect(await shop.service.stop()).toBe(0)
  })
})

function startWorkers(workers: number | 'auto', flags: string[] = [], surroundings: Surroundings = {}): Promise<Shop> {
  return startShop({ ...surroundings, flags: ['--workers', String(workers), ...flags] })
}

/** Asks over many new connections, which the kernel spreads over the workers. */
async function askOften({ api }: Shop, path: string): Promise<void> {
  const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => api.get(path, { Connection: 'close' })))
  for (const { status } of answers) expect(status).toBe(200)
}

/** The workers that answered requests for a path, by the log. */
function workersOf(shop: Shop, path: string): Set<unknown> {
  return new Set(shop.lines().flatMap(line => (line.path === path ? [line.worker] : [])))
}

function linesWith(shop: Shop, text: string): Record<string, unknown>[] {
  return shop.lines().filter(({ message }) => String(message).includes(text))
}

/** Searches the lines that the log gets from now on. */
function linesSince(shop: Shop): (text: string) => Record<string, unknown>[] {
  const before = shop.lines().length
  return text =>
    shop
      .lines()
      .slice(before)
      .filter(({ message }) => String(message).includes(text))
}

function workerProcesses({ service }: Shop): number[] {
  return childrenOf(service.processId)
}

function isRunning(processId: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${processId}/status`, 'utf8'))
  } catch {
    return false
  }
}
