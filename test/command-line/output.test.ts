import { expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { spawn } from 'bun'
import { freePort } from '../harness/free-port.ts'
import { expectRefusal } from '../harness/refusal.ts'
import { commandLine, run, surroundingsOf } from '../harness/service.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(120_000)

test('a command whose output nobody reads ends cleanly', async () => {
  const through = ['bash', '-c', 'set -o pipefail; "$@" | exit 0', 'bash']
  expect(await run(['serve', '--help'], { through })).toEqual({ status: 0, output: '', errors: '' })
})

test('a server whose output nobody reads serves all the same', async () => {
  using folder = temporaryFolder()
  const port = await freePort()
  const place = ['--port', String(port), '--database', `sqlite:${join(folder.path, 'catalog.db')}`]
  // The reader has left long before the server prints its address.
  const through = ['bash', '-c', 'exec "$@" > >(true)', 'bash']
  const child = spawn(commandLine(['serve', '--host', '127.0.0.1', ...place], { through }), {
    ...surroundingsOf({}),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  await until(async () => child.exitCode !== null || (await isReady(port)))
  child.kill('SIGTERM')
  await child.exited
  expect(child.exitCode, await child.stderr.text()).toBe(0)
})

test('no key is created if nobody reads it', async () => {
  using folder = temporaryFolder()
  const database = ['--database', `sqlite:${join(folder.path, 'catalog.db')}`]
  // A pipe whose last reader has closed it.
  const script = 'mkfifo pipe; exec 3<> pipe 4> pipe 3>&-; exec "$@" >&4'
  const through = ['bash', '-c', script, 'bash']
  const create = ['key', 'create', 'shop', '--scope', 'read', ...database]
  expectRefusal(await run(create, { folder: folder.path, through }), { status: 1, reason: /EPIPE/ })
  expect(await run(['key', 'list', ...database])).toMatchObject({ status: 0, output: '' })
})

test('what is done stays done if nobody can be told, and what cannot be written is an error', async () => {
  using folder = temporaryFolder()
  const database = ['--database', `sqlite:${join(folder.path, 'catalog.db')}`]
  const onFullDisk = (argv: readonly string[]) =>
    run(argv, { folder: folder.path, through: ['bash', '-c', 'exec "$@" > /dev/full', 'bash'] })
  await Bun.write(join(folder.path, 'categories.ndjson'), '{"name":"Garden","description":"All for the garden"}\n')
  const imported = await onFullDisk(['import', ...database, 'categories.ndjson'])
  expect(imported).toMatchObject({ status: 0, errors: expect.stringContaining('Imported 1 category\n') })
  const reason = /stockroom: cannot write to standard output: ENOSPC.*\n$/
  const exported = await onFullDisk(['export', ...database, '--resource', 'categories'])
  expect(exported).toMatchObject({ status: 1, errors: expect.stringMatching(reason) })
  expectRefusal(await onFullDisk(['key', 'create', 'shop', '--scope', 'read', ...database]), { status: 1, reason })
  expect(await run(['key', 'list', ...database])).toMatchObject({ status: 0, output: '' })
})

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok
  } catch {
    return false
  }
}
