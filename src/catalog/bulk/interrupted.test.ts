import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { spawn } from 'bun'
import { ENGINES, type Engine } from '../../../test/harness/engines.ts'
import { expectRefusal } from '../../../test/harness/refusal.ts'
import { commandLine, run, surroundingsOf } from '../../../test/harness/service.ts'
import { temporaryFolder } from '../../../test/harness/temporary-folder.ts'
import { until } from '../../../test/harness/until.ts'

setDefaultTimeout(120_000)

const LINES = 60_000

/** Products without ids: an import that began again would store some of them twice. */
const TEXT = Array.from({ length: LINES }, (_, place) =>
  JSON.stringify({ name: `Spade ${place + 1}`, description: 'Steel', price: place % 1_000 === 999 ? 0 : 1 }),
)

const NAMED = ['--resource', 'products', '--format', 'ndjson']

for (const engine of ENGINES) {
  describe(`on ${engine.name}`, () => {
    test('good lines are kept, if that is asked for, and the others are listed', async () => {
      await using database = await engine.freshDatabase()
      using folder = temporaryFolder()
      await Bun.write(join(folder.path, 'products.ndjson'), `${TEXT.slice(0, 3_000).join('\n')}\n`)
      const command = ['import', '--database', database.url, '--keep-good', 'products.ndjson']
      expect(await run(command, { folder: folder.path })).toEqual({
        status: 1,
        output: 'Imported 2997 products\n',
        errors: [
          ...[1_000, 2_000, 3_000].map(line => `products.ndjson:${line}: price: Input should be greater than 0`),
          'products.ndjson: 2997',
          'stockroom: 3 wrong lines not imported\n',
        ].join('\n'),
      })
      expect(await namesIn(engine, database.url)).toHaveLength(2_997)
    })

    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      test(`an import that keeps good lines goes on where ${signal} has ended it`, async () => {
        await using database = await engine.freshDatabase()
        const command = ['import', '--database', database.url, '--keep-good', ...NAMED, '-']
        await interrupted(command, TEXT.slice(0, 50_000), signal, async () => {
          return (await namesIn(engine, database.url)).length >= 20_000
        })
        const kept = await namesIn(engine, database.url)
        expect(kept.length).toBeLessThan(50_000)
        const resumed = await run(command, { input: TEXT.join('\n') })
        expect(resumed).toMatchObject({
          status: 1,
          output: `Imported ${LINES - LINES / 1_000 - kept.length} products\n`,
        })
        expect(resumed.errors).toMatch(/^-: resuming after line \d+\n/)
        const good = TEXT.filter(line => !line.endsWith('0}')).map(line => JSON.parse(line).name)
        expect(await namesIn(engine, database.url)).toEqual(good)
        // The progress of a finished import is deleted, so another file of that name starts at its first line.
        expect(await run(command, { input: `${TEXT[0]}\n` })).toMatchObject({ status: 0 })
      })
    }

    test('an interrupted import goes on with the same file only', async () => {
      await using database = await engine.freshDatabase()
      const command = ['import', '--database', database.url, '--keep-good', ...NAMED, '-']
      await interrupted(command, TEXT.slice(0, 50_000), 'SIGKILL', async () => {
        return (await namesIn(engine, database.url)).length >= 20_000
      })
      const kept = await namesIn(engine, database.url)
      for (const lines of [TEXT.slice(1), TEXT.slice(0, 100)]) {
        const refused = await run(command, { input: lines.join('\n') })
        expectRefusal(refused, { status: 1, reason: /is not as it was when its import was interrupted/ })
      }
      expect(await namesIn(engine, database.url)).toEqual(kept)
    })

    test('an import that Ctrl-C ends has imported nothing', async () => {
      await using database = await engine.freshDatabase()
      const command = ['import', '--database', database.url, ...NAMED, '-']
      const seen = await interrupted(command, TEXT.slice(0, 999), 'SIGINT', async () => {
        return (await namesIn(engine, database.url)).length === 0
      })
      expect(seen).toEqual({ status: 130, errors: '\nstockroom: interrupted; nothing was imported\n' })
      expect(await namesIn(engine, database.url)).toEqual([])
      expect(await run(command, { input: `${TEXT[0]}\n` })).toMatchObject({ status: 0 })
    })
  })
}

/** Runs an import on lines that do not end, until `isTime`, and then ends it by a signal. */
async function interrupted(
  command: readonly string[],
  lines: readonly string[],
  signal: 'SIGINT' | 'SIGKILL',
  isTime: () => Promise<boolean>,
) {
  const child = spawn(commandLine(command, {}), {
    ...surroundingsOf({}),
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  child.stdin.write(`${lines.join('\n')}\n`)
  await child.stdin.flush()
  // Until it has created the tables, there is nothing to ask.
  await until(() => isTime().catch(() => false))
  child.kill(signal)
  const errors = await child.stderr.text()
  await child.exited
  return { status: child.exitCode, errors }
}

async function namesIn(engine: Engine, url: string): Promise<string[]> {
  return (await engine.read<{ name: string }>(url, 'SELECT name FROM products ORDER BY id')).map(({ name }) => name)
}
