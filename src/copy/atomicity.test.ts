import { expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'bun'
import { countSkippedOnCitus } from '../../test/harness/contract.ts'
import { copied } from '../../test/harness/copy/copied.ts'
import { migrated, oddShop, sizesIn } from '../../test/harness/copy/odd-shop.ts'
import { ENGINES, type Engine, postgres, sqlite } from '../../test/harness/engines.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { commandLine, run, surroundingsOf } from '../../test/harness/service.ts'

setDefaultTimeout(120_000)

countSkippedOnCitus()

/** Enough to kill the copy in the middle. */
const MANY_REVIEWS = 20_000

test('a killed copy leaves the database empty, and the next one succeeds', async () => {
  await using source = await sqlite.freshDatabase()
  const sizes = ['--products', '10', '--users', '1000', '--reviews', String(MANY_REVIEWS)]
  expect(await run(['seed', '--database', source.url, ...sizes])).toMatchObject({ status: 0 })
  for (const engine of ENGINES) {
    await using target = await killedAmidReviews(source.url, engine)
    expect(await sizesIn(engine, target.url), engine.name).toEqual([0, 0, 0, 0])
    const { output } = await copied(source.url, target.url)
    expect(output).toContain(`${MANY_REVIEWS} reviews`)
    expect((await sizesIn(engine, target.url)).at(-1)).toBe(MANY_REVIEWS)
  }
})

test('a copy whose rows arrive differently from how they were sent fails, and leaves the database empty', async () => {
  await using shop = await oddShop()
  for (const [change, difference] of [
    ["NEW.comment := NEW.comment || ' '; RETURN NEW", 'another comment'],
    ['IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW', 'a row less'],
  ] as const) {
    await using target = await migrated(postgres)
    await using sql = connected(target.url)
    await sql.unsafe(
      `CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN ${change.replaceAll("'", "''")}; END'`,
    )
    await sql.unsafe('CREATE TRIGGER meddles BEFORE INSERT ON reviews FOR EACH ROW EXECUTE FUNCTION meddle()')
    const { status, output, errors } = await run(['copy', shop.url, target.url])
    expect({ difference, status, output }).toEqual({ difference, status: 1, output: '' })
    expect(errors).toMatch(/^stockroom: the copy of reviews differs from the original .*nothing was copied$/m)
    expect(await sizesIn(postgres, target.url), difference).toEqual([0, 0, 0, 0])
  }
})

/**
 * Kills a copy amid reviews, and returns what it was to fill. Users are copied before reviews, and each table ends with a line of
 * output. If the machine pauses, a copy may end before it is killed; then another one begins.
 */
async function killedAmidReviews(from: string, engine: Engine) {
  for (;;) {
    await using opened = new AsyncDisposableStack()
    const target = opened.use(await engine.freshDatabase())
    const child = spawn(commandLine(['copy', from, target.url], {}), {
      ...surroundingsOf({}),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    let errors = ''
    for await (const bytes of child.stderr) {
      errors += new TextDecoder().decode(bytes)
      if (errors.includes('users: ')) child.kill('SIGKILL')
    }
    await child.exited
    if (errors.includes('checked')) continue
    expect({ signal: child.signalCode, output: await child.stdout.text() }).toEqual({ signal: 'SIGKILL', output: '' })
    opened.move()
    return target
  }
}
