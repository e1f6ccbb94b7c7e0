import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawnSync } from 'bun'
import { executableIn } from '../harness/executable.ts'
import { childrenOf } from '../harness/process-tree.ts'
import { run, type Service, type Surroundings, startServer } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')
const NODE = Bun.which('node') ?? 'node'
const NPM = Bun.which('npm') ?? 'npm'

/** Since Node 22.15 the program replaces the launcher's process; before that, and with these flags, it runs beside it. */
const CAN_REPLACE = spawnSync([NODE, '--print', 'typeof process.execve']).stdout.toString().trim() === 'function'
const BESIDE = ['--import', 'data:text/javascript,delete process.execve']
const LAUNCHER = [NODE, join(ROOT, 'bin/stockroom.js')]
const LAUNCHER_BESIDE = [NODE, ...BESIDE, join(ROOT, 'bin/stockroom.js')]
const LAUNCHERS = [
  { name: 'the launcher that stays beside the program', program: LAUNCHER_BESIDE },
  ...(CAN_REPLACE ? [{ name: 'the launcher that the program replaces', program: LAUNCHER }] : []),
]

/** Whether a process can have its own process ids: root can, and on many systems any user in a namespace. */
const OWN_IDS = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child']
const CAN_OWN_IDS = Bun.which('unshare') !== null && spawnSync([...OWN_IDS, 'true']).exitCode === 0

for (const { name, program } of LAUNCHERS) {
  describe(name, () => {
    test('the launcher hands over arguments, environment, input, output and exit status', async () => {
      expect(await run(['--version'], { program })).toEqual(await run(['--version']))
      expect(await run(['no such', '* "command"'], { program })).toEqual(await run(['no such', '* "command"']))
      const refused = await run(['serve'], { program, environment: { PORT: 'nonsense' } })
      expect(refused).toMatchObject({ status: 2, errors: expect.stringContaining('PORT: "nonsense"') })
    })

    test('the launcher ends with status 0 when a signal has ended the service cleanly', async () => {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        await using server = await start({ program })
        expect(await server.stop(signal), signal).toBe(0)
        await expectGone(server)
      }
    })

    test.skipIf(!CAN_OWN_IDS)(
      'the launcher ends the service on a signal as the first process of a container',
      async () => {
        await using server = await start({ program: [...OWN_IDS, ...program] })
        const first = childOf(server.processId)
        if (first === null) throw new Error('there is no first process')
        process.kill(first, 'SIGTERM')
        await expectGone(server)
        expect(await server.stop()).toBe(0)
      },
    )
  })
}

test('the launcher that stays beside the program dies of the signal that killed the program', async () => {
  await using server = await start({ program: LAUNCHER_BESIDE })
  const program = childOf(server.processId)
  if (program === null) throw new Error('there is no program beside the launcher')
  process.kill(program, 'SIGKILL')
  expect(await server.stop('SIGTERM')).toBe(null)
  await expectGone(server)
})

test('the launcher that stays beside the program leaves no service behind when it is killed', async () => {
  await using server = await start({ program: LAUNCHER_BESIDE })
  process.kill(server.processId, 'SIGKILL')
  await expectGone(server)
})

// Both launchers start the program with the same flags.
test('the launcher takes no code and no settings from the files of the current folder', async () => {
  await expectNothingTaken(LAUNCHER)
})

test('the executable takes no code and no settings from the files of the current folder', async () => {
  using folder = temporaryFolder()
  await expectNothingTaken([await executableIn(folder.path)])
})

describe('npm', () => {
  test('npm start, npm run breeds and npm run chat end their services cleanly on a signal to npm alone', async () => {
    const stops = [
      ['start', 'SIGTERM'],
      ['breeds', 'SIGINT'],
      ['chat', 'SIGTERM'],
    ] as const
    for (const [script, signal] of stops) {
      await using server = await startByNpm(script)
      expect(await server.stop(signal), `${script}, ${signal}`).toBe(0)
      await expectGone(server)
    }
  })

  test('npm exec, or npx, leaves no service behind on SIGTERM', async () => {
    using cache = temporaryFolder()
    const environment = { npm_config_cache: cache.path }
    await using server = await start({ program: [NPM, 'exec', '--', 'stockroom'], folder: ROOT, environment })
    process.kill(server.processId, 'SIGTERM')
    await expectGone(server)
  })

  test('npm start leaves no service behind when npm is killed', async () => {
    await using server = await startByNpm('start')
    process.kill(server.processId, 'SIGKILL')
    await expectGone(server)
  })

  test.skipIf(!CAN_OWN_IDS)(
    'npm start ends the service on a signal to npm as the first process of a container',
    async () => {
      await using server = await startByNpm('start', OWN_IDS)
      const npm = childOf(server.processId)
      if (npm === null) throw new Error('there is no first process')
      process.kill(npm, 'SIGTERM')
      await expectGone(server)
      expect(await server.stop()).toBe(0)
    },
  )
})

async function start(surroundings: Surroundings): Promise<Service> {
  const open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder())
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  const server = open.use(await startServer(['serve', ...place], surroundings))
  return { ...server, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Like `npm start` or `npm run SCRIPT` in the project's folder. */
async function startByNpm(script: string, through: readonly string[] = []): Promise<Service> {
  const open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder())
  const place = ['--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${join(folder.path, 'shop.db')}`]
  const program = [NPM, '--no-update-notifier', 'run', script, '--']
  const argv = script === 'breeds' ? place.slice(0, 4) : place
  const server = open.use(await startServer(argv, { program, through, folder: ROOT }))
  return { ...server, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Serves, with workers and without, in a folder whose owner would like to run code in the process. */
async function expectNothingTaken(program: readonly string[]): Promise<void> {
  using folder = temporaryFolder()
  const ran = join(folder.path, 'ran')
  const write = (name: string, text: string) => writeFileSync(join(folder.path, name), text)
  write('planted.ts', `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(ran)}, '')\nexport {}\n`)
  write('bunfig.toml', 'preload = ["./planted.ts"]\n')
  write('.env', 'LOG_LEVEL=nonsense\n')
  write('.env.local', 'ACCESS_LOG=nonsense\n')
  write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: { jsx: 'react-jsx', jsxImportSource: './planted', paths: { '*': ['./planted.ts'] } },
    }),
  )
  for (const flags of [[], ['--workers', '2']]) {
    const argv = ['serve', '--host', '127.0.0.1', '--port', '0', '--database', 'sqlite:shop.db', ...flags]
    await using server = await startServer(argv, { program, folder: folder.path })
    expect((await fetch(`${server.address}/docs`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  }
  expect(existsSync(ran)).toBe(false)
}

/** Waits until nobody listens at the service's address. */
async function expectGone({ address }: Service): Promise<void> {
  await until(() =>
    fetch(address).then(
      () => false,
      () => true,
    ),
  )
}

/** The only child of a process, if there is one. */
function childOf(processId: number): number | null {
  return childrenOf(processId)[0] ?? null
}
