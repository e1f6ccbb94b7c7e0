import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawnSync } from 'bun'
import { z } from 'zod'
import lock from '../../npm-shrinkwrap.json'
import { version } from '../../package.json'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { noticesBeside } from './notices.ts'

setDefaultTimeout(120_000)

const Bom = z.object({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.string(),
  metadata: z.object({ component: z.object({ name: z.string(), version: z.string(), purl: z.string() }) }),
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      hashes: z.array(z.object({ alg: z.string() })),
    }),
  ),
})

test('npm run sbom lists the packages whose licenses lie beside the executable, with their checksums, and none for development', async () => {
  const { stdout, exitCode } = spawnSync(['npm', 'run', '--silent', 'sbom'], { cwd: resolve(import.meta.dir, '../..') })
  expect(exitCode).toBe(0)
  const { metadata, components } = Bom.parse(JSON.parse(stdout.toString()))
  expect(metadata.component).toEqual({ name: 'stockroom', version, purl: `pkg:npm/stockroom@${version}` })
  for (const { name, hashes } of components) expect(hashes[0]?.alg, name).toBe('SHA-512')

  const printed = [...(await noticesBeside()).matchAll(/^={80}\n\n(\S+) (\S+)(?:, the runtime)?$/gm)].map(
    ([, name, version]) => `${name === 'Bun' ? 'bun' : name} ${version}`,
  )
  const isRuntime = (name: string) => name.startsWith('@oven/bun-')
  const listed = components.filter(({ name }) => !isRuntime(name)).map(({ name, version }) => `${name} ${version}`)
  expect(listed.length).toBeGreaterThan(20)
  expect(listed.toSorted()).toEqual(printed.toSorted())
  const runtimes = components.filter(({ name }) => isRuntime(name)).map(({ name }) => name)
  expect(runtimes.toSorted()).toEqual(Object.keys(lock.packages['node_modules/bun'].optionalDependencies).toSorted())
})

test('npm run sbom fails if npm is killed', () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'npm'), '#!/bin/sh\nkill -KILL $$\n', { mode: 0o755 })
  const { stdout, exitCode } = spawnSync([process.execPath, resolve(import.meta.dir, '../../sbom.ts')], {
    env: { ...process.env, PATH: folder.path },
  })
  expect({ exitCode, printed: stdout.toString() }).toEqual({ exitCode: 1, printed: '' })
})
