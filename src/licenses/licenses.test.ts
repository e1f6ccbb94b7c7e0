import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import lock from '../../npm-shrinkwrap.json'
import { executableIn } from '../../test/harness/executable.ts'
import { run, SOURCE } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')

test('licenses prints the terms of the program, of each package it depends on, and of the runtime', async () => {
  const { status, output, errors } = await run(['licenses'])
  expect({ status, errors }).toEqual({ status: 0, errors: '' })
  expect(output).toContain(readFileSync(join(ROOT, 'LICENSE'), 'utf8').trim())
  const packages = Object.entries(lock.packages).filter(
    ([path, description]) => path !== '' && !('dev' in description) && !('optional' in description),
  )
  expect(packages.length).toBeGreaterThan(20)
  const heads = new Set(output.split('\n'))
  for (const [path, { version = '' }] of packages) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    if (name !== 'bun') expect(heads).toContain(`${name} ${version}`)
  }
  expect(output).toContain(`Bun ${lock.packages['node_modules/bun'].version}, the runtime`)
  expect(output).toContain('JavaScriptCore')
  expect(output).toContain('GNU LESSER GENERAL PUBLIC LICENSE')
  expect(output).toContain('TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION')
})

test('the executable prints the same licenses without the packages at hand, and has them in a file beside it', async () => {
  using folder = temporaryFolder()
  const executable = { program: [await executableIn(folder.path)], folder: folder.path }
  const source = await run(['licenses'], { program: SOURCE })
  expect(await run(['licenses'], executable)).toEqual(source)
  expect(readFileSync(join(folder.path, 'THIRD-PARTY-NOTICES.txt'), 'utf8')).toBe(source.output)
  expect(await run(['--help'], executable)).toEqual(await run(['--help'], { program: SOURCE }))
})
