import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { HAS_IPV6 } from '../../test/harness/loopback.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run, startService } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

/** It must not be asked about a server on this machine. */
const PROXY = { http_proxy: 'http://127.0.0.1:1' }

test('health exits with 0 while a server works, wherever it listens and whatever it is called', async () => {
  using folder = temporaryFolder()
  // The last one counts as a name, which is not among those that the server answers for.
  for (const host of ['127.0.0.1', '0.0.0.0', '::', ...(HAS_IPV6 ? ['::1'] : []), '127.1']) {
    const flags = ['--host', host, '--allowed-hosts', 'shop.example']
    await using service = await startService(`sqlite:${join(folder.path, 'shop.db')}`, { flags })
    const { port } = new URL(service.address)
    for (const path of ['/healthz', '/readyz']) {
      const asked = await run(['health', '--path', path], { environment: { HOST: host, PORT: port, ...PROXY } })
      expect(asked, `${host} ${path}`).toEqual({ status: 0, output: '', errors: '' })
    }
  }
})

test('health exits with 1 and the reason if nobody answers, or if the answer is not 200', async () => {
  using folder = temporaryFolder()
  const service = await startService(`sqlite:${join(folder.path, 'shop.db')}`)
  const { port } = new URL(service.address)
  const { status, errors } = await run(['health', '--port', port, '--path', '/products/1'])
  expect({ status, errors }).toEqual({ status: 1, errors: 'stockroom: /products/1 answered 404\n' })
  await service.stop()
  expectRefusal(await run(['health', '--port', port]), { status: 1, reason: /no answer/ })
})

test('health gives up on a server that accepts and says nothing', async () => {
  using silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => {} } })
  const { status, errors } = await run(['health', '--host', '127.0.0.1', '--port', String(silent.port)])
  expect(status).toBe(1)
  expect(errors).toMatch(/^stockroom: no answer from port \d+: .*\n$/)
}, 120_000)

test('health refuses what is not a path or a port', async () => {
  expectRefusal(await run(['health', '--path', 'readyz']), { status: 2, reason: /--path/ })
  expectRefusal(await run(['health', '--port', '0']), { status: 2, reason: /--port/ })
})
