import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { scrape, WITH_METRICS } from '../../test/harness/metrics.ts'
import { type Service, startServer } from '../../test/harness/service.ts'
import { startShop } from '../../test/harness/shop.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const BREEDS = ['breeds', '--host', '127.0.0.1', '--port', '0']

/** A process that retries a failing accept all the time is never found asleep so often in a row. */
const CALM_LOOKS = 10

/** Starts a server that may open 128 files. */
const FEW_FILES = { through: ['bash', '-c', 'ulimit -n 128; exec "$@"', 'bash'] }

test('at the connection limit, new connections are refused, open ones are served, and one line says so', async () => {
  await using shop = await startShop({
    flags: ['--connections-max', '20', ...WITH_METRICS],
  })
  const { service } = shop
  const before = await open(service, 10)
  await open(service, 30)
  await until(() => service.errors().includes('new ones are refused'))
  const { value } = await scrape(service)
  expect(value('stockroom_http_connections_max')).toBe(20)
  if (process.platform === 'linux') expect(value('stockroom_http_connections')).toBeGreaterThan(0.8 * 20)
  expect(await isRefused(service)).toBe(true)
  expect(await ask(before[0])).toStartWith('HTTP/1.1 200 ')
  expect(linesWith(service, 'refused')).toHaveLength(1)
  expect(linesWith(service, 'refused')[0]).toMatchObject({ level: 'warning', max: 20 })
  expect(await service.stop()).toBe(0)
})

test('once enough connections have closed, new ones are accepted at the same address', async () => {
  await using service = await startServer([...BREEDS, '--connections-max', '20'])
  for (let round = 1; round <= 2; round += 1) {
    const crowd = await open(service, 40)
    await until(() => linesWith(service, 'refused').length === round)
    for (const socket of crowd) socket.destroy()
    await until(() => linesWith(service, 'accepted again').length === round)
    expect((await fetch(`${service.address}/healthz`)).status).toBe(200)
  }
  expect(await service.stop()).toBe(0)
})

test.skipIf(process.platform !== 'linux')(
  'at the limit of open files, the process stays calm, says so once, and recovers',
  async () => {
    await using service = await startServer(BREEDS, FEW_FILES)
    const crowd = await open(service, 300)
    await until(() => service.errors().includes('new ones are refused'))
    let asleep = 0
    await until(() => {
      asleep = isAsleep(service) ? asleep + 1 : 0
      return asleep === CALM_LOOKS
    })
    expect(linesWith(service, 'refused')).toHaveLength(1)
    for (const socket of crowd) socket.destroy()
    await until(() => service.errors().includes('accepted again'))
    expect((await fetch(`${service.address}/healthz`)).status).toBe(200)
  },
)

test.skipIf(process.platform !== 'linux')(
  'metrics tell how many connections the limit of open files allows',
  async () => {
    await using service = await startServer([...BREEDS, ...WITH_METRICS], FEW_FILES)
    const max = (await scrape(service)).value('stockroom_http_connections_max')
    expect(max).toBeGreaterThan(32)
    expect(max).toBeLessThan(128)
  },
)

test.skipIf(process.platform !== 'linux')('metrics tell that open files have run out', async () => {
  await using service = await startServer([...BREEDS, ...WITH_METRICS], FEW_FILES)
  const crowd = await open(service, 300, 'GET /dogstream HTTP/1.1\r\nHost: h\r\n\r\n')
  await until(() => service.errors().includes('new ones are refused'))
  const { value } = await scrape(service)
  expect(value('process_open_fds') / value('process_max_fds')).toBeGreaterThan(0.7)
  expect(value('process_max_fds')).toBe(128)
  for (const socket of crowd) socket.destroy()
})

test('streams go on while new connections are refused, and a stop ends all of them', async () => {
  await using service = await startServer([...BREEDS, '--connections-max', '20'])
  const stream = await fetch(`${service.address}/dogstream`)
  const reader = stream.body?.getReader()
  await open(service, 40)
  await until(() => service.errors().includes('new ones are refused'))
  for (let piece = 0; piece < 5; piece += 1) expect((await reader?.read())?.done).toBe(false)
  expect(await service.stop()).toBe(0)
})

/** Opens as many connections as the server accepts. They are idle unless there is a request to send. */
async function open({ address }: Service, count: number, request = ''): Promise<Socket[]> {
  const { hostname, port } = new URL(address)
  return Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect(Number(port), hostname)
      socket.write(request)
      await new Promise<void>(resolve => {
        socket.once('connect', () => resolve())
        socket.on('error', () => resolve())
      })
      return socket
    }),
  )
}

function isRefused({ address }: Service): Promise<boolean> {
  const { hostname, port } = new URL(address)
  return new Promise(resolve => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => resolve(true))
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
  })
}

/** Sends a request on an open connection and returns the response. */
function ask(socket: Socket | undefined): Promise<string> {
  return new Promise(resolve => {
    socket?.once('data', bytes => resolve(bytes.toString()))
    socket?.once('close', () => resolve('closed'))
    socket?.write('GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n')
  })
}

function linesWith(service: Service, text: string): Record<string, unknown>[] {
  const lines = service.errors().split('\n')
  return lines.filter(line => line.includes(text)).map(line => JSON.parse(line))
}

function isAsleep({ processId }: Service): boolean {
  return /^State:\s+S/m.test(readFileSync(`/proc/${processId}/status`, 'utf8'))
}
