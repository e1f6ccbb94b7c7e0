import { expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { spawn } from 'bun'
import type { Page, Route } from 'playwright-core'
import { createClient } from 'stockroom/client'
import { openBrowser } from '../harness/browser/chromium.ts'
import { freePort } from '../harness/free-port.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')

/** A fenced block: its language, the file that it belongs to, and where in that file. */
const BLOCK = /^```(\w+)(?: (\S+))?( \(at the end\))?\n(.*?)^```$/gms

/** Installs the package beside the dependencies that lie here, because tests ask no registry. */
const NPM = `#!/bin/sh
case "$*" in 'install ../'*.tgz) ;; *) exec "$REAL_NPM" "$@" ;; esac
set -e
mkdir -p node_modules/.bin node_modules/stockroom
tar -xzf "$2" --strip-components=1 -C node_modules/stockroom
ln -s "$SOURCE/node_modules" node_modules/stockroom/node_modules
ln -s ../stockroom/bin/stockroom.js node_modules/.bin/stockroom
`

test('who follows the tutorial has a shop that filters while one types, and shows new prices at once', async () => {
  await using open = new AsyncDisposableStack()
  const folder = open.use(temporaryFolder()).path
  const ports = { '8000': await freePort(), '3000': await freePort() }
  const text = readFileSync(join(ROOT, 'docs/tutorial.md'), 'utf8').replaceAll(
    /(localhost:|listen\()(8000|3000)\b/g,
    (_, before, port: keyof typeof ports) => before + ports[port],
  )
  const reader = open.use(terminals(folder, { PORT: String(ports[8000]) }))
  const browser = open.use(await openBrowser())
  const tab = open.use(await browser.openTab({ hasRoutes: true }))
  const shown = () => tab.page.locator('#products li').allTextContents()
  const visited: string[] = []

  for (const [, language, file, isAdded, content = ''] of text.matchAll(BLOCK)) {
    if (language === 'sh') await reader.type(content)
    else if (language === 'text') await until(() => reader.printed().includes(content))
    else if (isAdded) appendFileSync(reader.path(file), content)
    else writeFileSync(reader.path(file), content)

    if (content === 'node server.mjs\n') {
      await until(() => reader.printed().includes('My shop is at'))
      await tab.page.goto(`http://localhost:${ports[3000]}`)
      await tab.page.getByText('4 products').waitFor()
      expect(await shown()).toEqual([
        'Stoneware Mug, $14.00 ★★★★★',
        'Copper Kettle, $89.00 ★★★★',
        'Iron Skillet, $44.50 ★★',
        'Teapot, $42.00 ',
      ])
      await tab.page.getByRole('searchbox').pressSequentially('ket')
      await tab.page.getByText('1 products').waitFor()
      expect(await shown()).toEqual(['Copper Kettle, $89.00 ★★★★'])
      await tab.page.getByRole('searchbox').fill('')
      visited.push('page')
    }
    if (isAdded) {
      const ready = tab.page.waitForEvent('console', message => message.text() === 'ready')
      await tab.page.reload()
      await ready
      await tab.page.route(/\/products\/\?/, route => route.abort())
      const failed = tab.page.waitForEvent('console', message => message.text().includes('GET /products/: no answer'))
      await createReview(ports[8000])
      await failed
      await tab.page.unrouteAll()
      await expectNewestAnswer(tab.page, () => createReview(ports[8000]))
      visited.push('events')
    }
    if (content === 'node sale.mjs\n') {
      await tab.page.getByText('Copper Kettle, $80.10').waitFor()
      await tab.page.getByText('Teapot, $37.80').waitFor()
      visited.push('sale')
    }
  }
  expect(visited).toEqual(['page', 'events', 'sale'])
  // The list that could not be read; the prices of the sale came all the same.
  expect(tab.complaints().filter(complaint => !/ERR_FAILED|GET \/products\/: no answer/.test(complaint))).toEqual([])
})

/** An event asks for the whole list, whose answer comes only after that to what is typed next. */
async function expectNewestAnswer(page: Page, change: () => Promise<void>): Promise<void> {
  const held = Promise.withResolvers<Route>()
  await page.route(/\/products\/\?/, route =>
    route.request().url().includes('q=ket') ? route.continue() : held.resolve(route),
  )
  await change()
  const late = await held.promise
  await page.getByRole('searchbox').fill('ket')
  await page.getByText('1 products').waitFor()
  const answered = page.waitForEvent('requestfinished', request => request === late.request())
  await late.continue()
  await answered
  expect(await page.locator('#products li').count()).toBe(1)
  await page.unrouteAll()
  await page.getByRole('searchbox').fill('')
  await page.getByText('4 products').waitFor()
}

async function createReview(port: number): Promise<void> {
  const { reviews } = createClient(`http://localhost:${port}`)
  await reviews.create({ product_id: 1, user_id: 1, rating: 4, comment: 'Still my favourite' })
}

/** Types commands as a reader does: what does not end goes on in a terminal of its own. */
function terminals(folder: string, settings: Record<string, string>) {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'npm'), NPM)
  symlinkSync(ROOT, join(folder, 'stockroom'))
  chmodSync(join(bin, 'npm'), 0o755)
  symlinkSync(process.execPath, join(bin, 'bun'))
  const env = {
    ...{ PATH: `${bin}:${process.env.PATH}`, HOME: folder, SOURCE: ROOT, REAL_NPM: Bun.which('npm') ?? 'npm' },
    ...settings,
  }
  const running: Bun.Subprocess[] = []
  /** What the last commands have printed. */
  let printed = () => ''
  let cwd = folder
  return {
    path: (file = '') => join(cwd, file),
    printed: () => printed(),
    type: async (commands: string) => {
      const child = spawn(
        ['bash', '-ec', `exec 2>&1; ${commands.trim().replace(/^(?=(npx|node) .*$(?![\s\S]))/m, 'exec ')}`],
        {
          cwd,
          env,
          stdin: 'ignore',
          stdout: 'pipe',
        },
      )
      running.push(child)
      let output = ''
      printed = () => output
      const reading = (async () => {
        const decoder = new TextDecoder()
        for await (const bytes of child.stdout) output += decoder.decode(bytes, { stream: true })
      })()
      const listens = until(() => /serves the store catalog|My shop is at/.test(output) || child.exitCode !== null)
      await Promise.race([child.exited, listens])
      if (child.exitCode !== null) {
        await reading
        expect(child.exitCode, commands + output).toBe(0)
      }
      if (commands.includes('mkdir')) cwd = join(folder, 'my-shop')
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of running.toReversed()) {
        if (child.exitCode === null) child.kill()
        await child.exited
      }
    },
  }
}
