import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { spawn } from 'bun'
import lock from '../../npm-shrinkwrap.json'
import { childrenOf } from '../harness/process-tree.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'
import { noticesBeside } from './notices.ts'

setDefaultTimeout(120_000)

test('the terms of the program, of each package it depends on, and of the runtime lie beside the executable', async () => {
  const notices = await noticesBeside()
  expect(notices).toContain(readFileSync(resolve(import.meta.dir, '../../LICENSE'), 'utf8').trim())
  const packages = Object.entries(lock.packages).filter(
    ([path, description]) => path !== '' && !('dev' in description) && !('optional' in description),
  )
  expect(packages.length).toBeGreaterThan(20)
  const heads = new Set(notices.split('\n'))
  for (const [path, { version = '' }] of packages) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    if (name !== 'bun') expect(heads).toContain(`${name} ${version}`)
  }
  expect(notices).toContain(`Bun ${lock.packages['node_modules/bun'].version}, the runtime`)
  expect(notices).toContain('JavaScriptCore')
  expect(notices).toContain('GNU LESSER GENERAL PUBLIC LICENSE')
  expect(notices).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')
})

test('a build whose bundler is killed, as by a machine without memory, has failed', async () => {
  using folder = temporaryFolder()
  const build = spawn([process.execPath, resolve(import.meta.dir, '../../build.ts'), folder.path], { stdout: 'ignore' })
  await until(() => childrenOf(build.pid).length > 0)
  for (const bundler of childrenOf(build.pid)) process.kill(bundler, 'SIGKILL')
  expect(await build.exited).toBe(1)
})
