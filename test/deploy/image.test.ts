import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob, spawnSync } from 'bun'
import { childrenOf } from '../harness/process-tree.ts'
import { run, type Service, startServer } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { BUILD_STAGE, buildImage, inImage, operandsOf, SHIPPED_STAGE, USER } from './image.ts'

setDefaultTimeout(120_000)

const IMAGE_MAX_BYTES = 150_000_000

/** Some systems let only root make namespaces. */
const canUnshare =
  spawnSync([
    ...['unshare', '--map-root-user', '--mount', '--pid', '--fork', 'sh', '-c'],
    `mount -t proc proc /proc && unshare --map-user=${USER} true`,
  ]).exitCode === 0

const open = new AsyncDisposableStack()
let folder = ''

beforeAll(() => {
  folder = open.use(temporaryFolder()).path
  buildImage(folder)
})
afterAll(() => open.disposeAsync())

/** Disposing of it ends `unshare`, which ignores other signals, and with it the container. */
async function serve(argv: readonly string[] = operandsOf(SHIPPED_STAGE, 'CMD')): Promise<Service> {
  const service = await startServer(argv, inImage(folder, { PORT: '0' }))
  return { ...service, [Symbol.asyncDispose]: async () => void (await service.stop('SIGKILL')) }
}

/** Sends a signal to the first process of the container; resolves to its exit status. */
async function stopped(service: Service, signal: 'SIGTERM' | 'SIGINT'): Promise<number | null> {
  const [first] = childrenOf(service.processId)
  if (first === undefined) throw new Error('the container has no process')
  process.kill(first, signal)
  return service.stop()
}

function filesOf(image: string): string[] {
  return [...new Glob('**').scanSync({ cwd: image, dot: true, onlyFiles: true })].toSorted()
}

test('the image has under 150 MB: the executable, the C library, three files about users and names, and all terms', () => {
  const image = join(folder, 'image')
  const files = filesOf(image)
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(image, file)).size, 0)
  expect(bytes).toBeLessThan(IMAGE_MAX_BYTES)
  const others = files.filter(file => !/^lib\w*\/.*\.so\.\d+$/.test(file))
  expect(others).toEqual([
    ...['etc/group', 'etc/nsswitch.conf', 'etc/passwd'],
    ...['usr/local/bin/stockroom', 'usr/share/doc/libc6/copyright'],
  ])
})

test('the image runs as a user without rights, in exec form, and checks its health without other programs', async () => {
  expect(operandsOf(SHIPPED_STAGE, 'USER')).toEqual([`${USER}:${USER}`])
  expect(operandsOf(SHIPPED_STAGE, 'VOLUME')).toEqual(['/data'])
  expect(operandsOf(SHIPPED_STAGE, 'FROM')).toEqual(['scratch'])
  const entry = operandsOf(SHIPPED_STAGE, 'ENTRYPOINT')
  expect(entry).toEqual(['stockroom'])
  const [program, ...health] = operandsOf(SHIPPED_STAGE, 'HEALTHCHECK')
  expect(program).toBe('stockroom')
  // It looks for the server at the port that the image exposes.
  const [port] = operandsOf(SHIPPED_STAGE, 'EXPOSE')
  expect(operandsOf(SHIPPED_STAGE, 'ENV')).toContain(`PORT=${port}`)
  expect((await run([...health, '--help'])).status).toBe(0)
})

test('the image is built from what .dockerignore lets through', () => {
  const sources = BUILD_STAGE.filter(({ name }) => name === 'COPY').flatMap(({ text }) => text.split(' ').slice(0, -1))
  const ignored = readFileSync(join(import.meta.dir, '../../.dockerignore'), 'utf8').split('\n')
  const passed = ignored.filter(line => line.startsWith('!')).map(line => line.slice(1))
  expect(sources.toSorted()).toEqual(passed.toSorted())
})

test.if(canUnshare)(
  'in a container with a read-only root, the program fills and serves a store, and its health is asked',
  async () => {
    expect(await run(['seed', '--products', '7'], inImage(folder))).toMatchObject({ status: 0 })
    await using service = await serve()
    const { port } = new URL(service.address)
    expect(await run(['health', '--path', '/readyz'], inImage(folder, { PORT: port }))).toMatchObject({ status: 0 })
    const body = JSON.stringify({ name: 'Spade', description: 'Steel', price: 34.5 })
    const headers = { 'Content-Type': 'application/json' }
    const created = await fetch(`${service.address}/products/`, { method: 'POST', headers, body })
    expect(created.status).toBe(200)
    expect((await fetch(`${service.address}/docs`)).status).toBe(200)
    const posted = { method: 'POST', headers: { 'Sec-Fetch-Site': 'same-origin' }, body: `${body}\n` }
    const imported = await fetch(`${service.address}/admin/import?list=products&format=ndjson`, posted)
    expect(await imported.text()).toContain('1 line imported')
    expect(await run(['backup', '/data/backup.db'], inImage(folder))).toMatchObject({ status: 0 })
    const unwritable = await run(['backup', '/backup.db'], inImage(folder))
    expect(unwritable.status).toBe(1)
    expect(await stopped(service, 'SIGTERM')).toBe(0)
    expect(await run(['health'], inImage(folder, { PORT: port }))).toMatchObject({ status: 1 })

    await using again = await serve()
    expect(await (await fetch(`${again.address}/products/8`)).json()).toMatchObject({ name: 'Spade' })
    expect(filesOf(join(folder, 'data')).toSorted()).toContain('backup.db')
  },
)

test.if(canUnshare)(
  'in a container, both signals stop every server as its first process, and workers too',
  async () => {
    for (const argv of [['serve', '--workers', '2'], ['chat'], ['breeds']]) {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        await using service = await serve(argv)
        expect((await fetch(`${service.address}/healthz`)).status, argv.join(' ')).toBe(200)
        expect(await stopped(service, signal), `${argv.join(' ')} ${signal}`).toBe(0)
      }
    }
  },
)

test.if(canUnshare)('in a container, a setting that is wrong ends the program with its reason', async () => {
  const { status, errors } = await run(['serve'], inImage(folder, { PORT: 'http' }))
  expect({ status, errors }).toEqual({ status: 2, errors: expect.stringContaining('PORT') })
})

test.if(canUnshare)('in a container, names are looked up without further files of the system', async () => {
  writeFileSync(join(folder, 'image/etc/hosts'), '127.0.0.1 shop-database\n')
  const asked = await run(['health', '--host', 'shop-database', '--port', '1'], inImage(folder))
  expect(asked.errors).toMatch(/ECONNREFUSED/)
})
