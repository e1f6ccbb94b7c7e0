import { expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn, spawnSync, YAML } from 'bun'
import { z } from 'zod'
import { run, startServer } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(120_000)

const DEPLOY = resolve(import.meta.dir, '../../deploy')

const NGINX = Bun.which('nginx')

const Service = z.object({
  image: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()),
})

const Compose = z.object({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.unknown()),
  secrets: z.record(z.string(), z.unknown()).default({}),
})

function compose(file: string): z.output<typeof Compose> {
  return Compose.parse(YAML.parse(readFileSync(join(DEPLOY, file), 'utf8')))
}

test('every service of the compose files has few rights, is reached from its machine alone, and names what there is', async () => {
  const files = readdirSync(DEPLOY).filter(file => file.startsWith('compose'))
  expect(files.length).toBe(2)
  const { output: help } = await run(['serve', '--help'])
  for (const file of files) {
    const { services, volumes, secrets } = compose(file)
    for (const [name, service] of Object.entries(services)) {
      const place = `${name} in ${file}`
      expect(service.security_opt, place).toEqual(['no-new-privileges:true'])
      for (const port of service.ports) expect(port, place).toStartWith('127.0.0.1:')
      for (const secret of service.secrets) expect(secrets, place).toHaveProperty(secret)
      for (const volume of service.volumes)
        if (!volume.startsWith('.')) expect(volumes).toHaveProperty(volume.split(':')[0] ?? '')
      if (service.image !== 'stockroom') continue
      expect([service.read_only, service.cap_drop], place).toEqual([true, ['ALL']])
      for (const variable of Object.keys(service.environment)) {
        if (variable !== 'DATABASE_PASSWORD_FILE') expect(help, place).toContain(`variable ${variable})`)
      }
      const [, program, ...health] = service.healthcheck?.test ?? ['CMD', 'stockroom', 'health']
      expect(program, place).toBe('stockroom')
      expect((await run([...health, '--port', '1'])).errors, place).toContain('no answer')
    }
  }
})

test('nginx forwards to the nodes of the compose file', () => {
  const { services } = compose('compose.postgres.yaml')
  const nodes = Object.keys(services).filter(name => services[name]?.image === 'stockroom')
  const forwarded = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8').matchAll(/server (\S+):8000;/g)
  expect(nodes.length).toBeGreaterThan(1)
  expect([...forwarded].map(([, node]) => node ?? '')).toEqual(nodes)
  const neverLeftOut = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8').matchAll(
    /server (\S+):8000 max_fails=0 backup;/g,
  )
  expect([...neverLeftOut].map(([, node]) => node ?? '')).toEqual(nodes)
})

test('the file for nginx repeats neither PUT nor DELETE', () => {
  const text = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')
  const [, place = ''] = /error_page 418 = (@\w+);\s*if \(\$request_method ~ \^\(PUT\|DELETE\)\$\)/.exec(text) ?? []
  expect(text).toMatch(new RegExp(`location ${place} \\{\\s*proxy_next_upstream off;`))
})

test('the file for nginx lets files of the admin page through, as large as the guide says, while they arrive', () => {
  const text = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')
  const guide = readFileSync(resolve(DEPLOY, '../docs/admin-page.md'), 'utf8')
  const [, mebibytes = ''] = /a CSV or NDJSON file of up to (\d+) MiB/.exec(guide) ?? []
  const [, place = ''] = /location = \/admin\/import \{([^}]*)\}/.exec(text) ?? []
  expect(place).toContain(`client_max_body_size ${mebibytes}m;`)
  expect(place).toContain('proxy_request_buffering off;')
})

test('the file for nginx waits for longer than any answer takes to begin, so that it counts no node as failed', () => {
  const text = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')
  const guide = readFileSync(resolve(DEPLOY, '../docs/operations.md'), 'utf8')
  const [, minutes] =
    /a request that creates many or deletes, while it does nothing else \| (\d+) min/.exec(guide) ?? []
  const [, pollSeconds] = /a poll's wait for the first event +\| (\d+) s/.exec(guide) ?? []
  const waits = [...text.matchAll(/proxy_read_timeout (\d+)s;/g)].map(([, seconds]) => Number(seconds))
  expect(Math.min(...waits)).toBeGreaterThan(Math.max(60 * Number(minutes), Number(pollSeconds)))
})

test('the file for nginx does not wait long for a node whose machine is gone', () => {
  const [, seconds = ''] = /proxy_connect_timeout (\d+)s;/.exec(readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')) ?? []
  expect(Number(seconds)).toBe(2)
})

test.skipIf(NGINX === null)(
  'nginx repeats a read that a node has not answered at the other one, but no write',
  async () => {
    await using open = new AsyncDisposableStack()
    const folder = open.use(temporaryFolder())
    const told: string[] = []
    const nodes = Array.from({ length: 2 }, () => open.use(failingNode(request => told.push(request))))
    const socket = open.use(await startNginx(folder.path, nodes)).socket
    const asked = async (method: string, body?: string) => {
      told.length = 0
      const { status } = await fetch('http://shop/users/%41?a=%2F', {
        unix: socket,
        method,
        ...(body !== undefined && { body }),
      })
      expect(status, method).toBe(502)
      return told
    }
    // At each node, and once more as at a node that it never leaves out.
    expect(await asked('GET')).toEqual(Array.from({ length: 4 }, () => 'GET /users/%41?a=%2F '))
    expect(await asked('POST', 'body')).toEqual(['POST /users/%41?a=%2F body'])
    expect(await asked('PUT', 'body')).toEqual(['PUT /users/%41?a=%2F body'])
    expect(await asked('DELETE')).toEqual(['DELETE /users/%41?a=%2F '])
  },
)

test.skipIf(NGINX === null)('nginx fails no request while the nodes are restarted one after the other', async () => {
  await using open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder())
  // nginx keeps no connection, on which it could send a request at the moment at which its node stops.
  const headers = { connection: 'close' }
  const start = (port = 0) => Bun.serve({ hostname: '127.0.0.1', port, fetch: () => new Response('done', { headers }) })
  const nodes = [open.use(start()), open.use(start())]
  const ports = nodes.map(({ port }) => ({ port: port ?? 0 }))
  const socket = open.use(await startNginx(folder.path, ports)).socket
  const statuses = async () => {
    const methods = ['GET', 'POST', 'PUT', 'DELETE']
    const asked = Array.from({ length: 24 }, (_, index) => methods[index % methods.length])
    const answers = await Promise.all(
      asked.map(method => fetch('http://shop/products/1', { unix: socket, method: method ?? '' })),
    )
    return [...new Set(answers.map(({ status }) => status))]
  }
  for (const [index, { port }] of ports.entries()) {
    await nodes[index]?.stop(true)
    expect(await statuses(), `node ${index + 1} is down`).toEqual([200])
    nodes[index] = open.use(start(port))
  }
  await Promise.all(nodes.map(node => node.stop(true)))
  expect(await statuses(), 'both are down').toEqual([502])
  for (const { port } of ports) open.use(start(port))
  expect(await statuses(), 'both are back').toEqual([200])
})

/** Takes a request, which has a body of four bytes or none, and closes the connection instead of answering. */
function failingNode(took: (request: string) => void): Disposable & { readonly port: number } {
  const node = Bun.listen<{ text: string }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open: socket => {
        socket.data = { text: '' }
      },
      data: (socket, bytes) => {
        socket.data.text += bytes.toString()
        const [head = '', body] = socket.data.text.split('\r\n\r\n')
        if (body === undefined || (head.includes('Content-Length: 4') && body.length < 4)) return
        took(`${head.split(' HTTP/')[0]} ${body}`)
        socket.end()
      },
    },
  })
  return { port: node.port, [Symbol.dispose]: () => node.stop(true) }
}

/** Starts nginx with the shipped file, in front of these nodes. */
async function startNginx(folder: string, nodes: readonly { readonly port: number }[]) {
  const socket = join(folder, 'socket')
  const shipped = readFileSync(join(DEPLOY, 'nginx.conf'), 'utf8')
  const site = shipped
    .replaceAll(/node-(\d):8000/g, (_, number) => `127.0.0.1:${nodes[number - 1]?.port}`)
    .replace('listen 8080', `listen "unix:${socket}"`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = temporary.map(name => `${name}_temp_path "${folder}";`).join('\n')
  const conf = join(folder, 'nginx.conf')
  writeFileSync(
    conf,
    `daemon off; master_process off; pid "${folder}/pid"; events {} http { access_log off; ${paths} ${site} }`,
  )
  const nginx = spawn([NGINX ?? '', '-c', conf, '-e', join(folder, 'errors')])
  const accepts = async () => {
    if (nginx.exitCode !== null) throw new Error('nginx did not start')
    const connection = await Bun.connect({ unix: socket, socket: { data: () => {} } }).catch(() => null)
    connection?.end()
    return connection !== null
  }
  await until(accepts)
  return {
    socket,
    [Symbol.asyncDispose]: async () => {
      nginx.kill()
      await nginx.exited
    },
  }
}

/** The settings of the unit, and the program it starts. */
function unit() {
  const text = readFileSync(join(DEPLOY, 'stockroom.service'), 'utf8')
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  const [program, ...argv] = setting('ExecStart').split(' ')
  const variables = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])
  const environment: Record<string, string> = Object.fromEntries(variables)
  return { text, setting, program, argv, environment }
}

test('the systemd unit starts the program with settings that it accepts and an operator can override, in the folder that it may write', async () => {
  using folder = temporaryFolder()
  const { setting, argv, environment } = unit()
  const state = `/var/lib/${setting('StateDirectory')}`
  expect(setting('WorkingDirectory')).toBe(state)
  // A flag would override the file of the operator.
  expect(argv).toEqual(['serve'])
  const { DATABASE_URL = '', ...others } = environment
  expect(DATABASE_URL).toContain(`${state}/`)
  expect(others).toMatchObject({ HOST: '127.0.0.1', WORKERS: 'auto' })
  // As a file of the operator does.
  const overridden = { ...others, DATABASE_URL: DATABASE_URL.replace(state, folder.path), PORT: '0' }
  await using service = await startServer(argv, { environment: overridden })
  expect((await fetch(`${service.address}/readyz`)).status).toBe(200)
  expect(readdirSync(folder.path)).toContain('stockroom.db')
})

test('the systemd unit has the service started again for as long as it fails, but not with a wrong setting', () => {
  const { text, setting } = unit()
  expect(text.split('[Service]')[0]).toMatch(/^StartLimitIntervalSec=0$/m)
  expect(setting('Restart')).toBe('on-failure')
  expect(setting('RestartPreventExitStatus')).toBe('2')
})

const analyze = Bun.which('systemd-analyze')

test.if(analyze !== null)('systemd accepts the unit, and rates it as well protected', async () => {
  using folder = temporaryFolder()
  const { text, program } = unit()
  const file = join(folder.path, 'stockroom.service')
  await Bun.write(file, text.replace(`ExecStart=${program}`, `ExecStart=${process.execPath}`))
  const verified = spawnSync([analyze ?? '', 'verify', file])
  expect([verified.exitCode, verified.stderr.toString()]).toEqual([0, ''])
  // In tenths; 0 is the best, and 96 that of a unit without protection.
  const rated = spawnSync([analyze ?? '', 'security', '--offline=true', '--threshold=15', file])
  expect(rated.exitCode, rated.stdout.toString()).toBe(0)
})
