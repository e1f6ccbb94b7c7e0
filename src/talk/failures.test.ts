import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelCall } from '../../test/harness/peers/model-server.ts'
import { expectRefusal } from '../../test/harness/refusal.ts'
import { run } from '../../test/harness/service.ts'
import { register, talkPlace } from '../../test/harness/terminal/talk.ts'

/** The model fails so; it is told in one line, nothing of the turn but the prompt is stored, and the session goes on. */
async function expectTold(
  fail: (call: ModelCall) => unknown,
  calls: number,
  reason: string,
  output = '',
): Promise<void> {
  await using place = await talkPlace()
  const talking = place.pipe([...register('ada'), 'First', 'Second', 'quit'])
  for (let call = 0; call < calls; call += 1) await fail(await place.model.nextCall())
  const next = await place.model.nextCall()
  expect(next.prompt).toBe('ada: First\nSecond')
  await next.answer('Here again.')
  const told = await talking
  expect(told).toMatchObject({ status: 0, output: `${output}Here again.\n` })
  expect(told.errors).toContain(`ada> First\n${reason}\n\nada> Second\n`)
  expect(await place.texts('ada')).toEqual(['First', 'Second', 'Here again.'])
}

test('a model that does not exist is reported', async () => {
  await expectTold(
    call => call.refuse(404),
    1,
    'The model server has no model "small-model": check CHAT_MODEL and CHAT_BASE_URL.',
  )
})

test('a wrong credential is reported and not repeated', async () => {
  await expectTold(call => call.refuse(401), 1, 'The model server refused the credential: check CHAT_API_KEY.')
})

test('a cut connection is reported after retries', async () => {
  await expectTold(
    call => call.cut(),
    3,
    'The model server cannot be reached (ECONNRESET): check the network and CHAT_BASE_URL, or try again a little later.',
  )
})

test('an answer that is cut in the middle is reported after its text so far, and is not stored', async () => {
  await expectTold(
    async call => {
      await call.send('So f\x1b[2Jar')
      await call.breakOff()
    },
    1,
    'The model server broke off before the answer was complete: ask again.',
    'So far\n',
  )
})

test('an answer of nothing but what a terminal must not get is reported, and is not stored', async () => {
  const fail = (call: ModelCall) => call.answer('\x1b[1m', '\u200e')
  await expectTold(fail, 1, 'The answer has nothing to show: ask again.')
})

test('at a terminal, an answer that is cut in the middle stays visible, with the failure below it', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 200 })
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.send('# So far\n\nand **no')
  await session.shows('and')
  await call.breakOff()
  await session.shows(
    /So far\n\nand \*\*no\nThe model server broke off before the answer was complete: ask again\.\n\nada>$/,
  )
  session.type('Again\r')
  const next = await place.model.nextCall()
  await next.answer('Well.')
  await session.shows(/Well\.\n\nada>$/)
})

test('a model server that is not there is reported, and the session goes on', async () => {
  await using place = await talkPlace()
  const environment = { CHAT_BASE_URL: 'http://127.0.0.1:1/v1' }
  const { status, errors } = await place.pipe([...register('ada'), 'Hello', 'quit'], [], { environment })
  expect(status).toBe(0)
  expect(errors).toMatch(/ada> Hello\nThe model server cannot be reached \(ECONNREFUSED\): .+\n\nada> quit/)
})

test('a database that another program locks is reported after a wait, and the session goes on', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 200 })
  {
    using holder = new Database(place.databasePath)
    holder.run('BEGIN IMMEDIATE')
    session.type('Lost\r')
    await session.shows(/^The database cannot be used: another program has locked it; .+ try again\.\n\nada>$/m)
    holder.run('ROLLBACK')
  }
  expect(place.model.calls).toHaveLength(0)
  session.type('Kept\r')
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('Kept')
  await call.answer('Yes.')
  await session.shows(/Yes\.\n\nada>$/)
})

test('a database file that was moved away is reported, and the session goes on once it is back', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 200 })
  renameSync(place.databasePath, `${place.databasePath}.away`)
  session.type('Lost\r')
  await session.shows(
    /^The database cannot be used: its file was deleted, moved or replaced\. .+ try again\.\n\nada>$/m,
  )
  expect(place.model.calls).toHaveLength(0)
  renameSync(`${place.databasePath}.away`, place.databasePath)
  session.type('Kept\r')
  const call = await place.model.nextCall()
  await call.answer('Yes.')
  await session.shows(/Yes\.\n\nada>$/)
  expect(await place.texts('ada')).toEqual(['Kept', 'Yes.'])
})

test('an answer that cannot be stored is shown all the same, with a message', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 200 })
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.send('All of it')
  await session.shows('All of it')
  renameSync(place.databasePath, `${place.databasePath}.away`)
  await call.finish()
  await session.shows(/All of it\nThe database cannot be used: .+ This may not be stored: .+ try again\.\n\nada>$/)
  session.type('quit\r')
  expect(await session.ended).toBe(0)
})

test('a database that cannot be opened is reported in one line, with status 1, before anything is asked', async () => {
  await using place = await talkPlace()
  const notOne = join(place.folder, 'text.db')
  writeFileSync(notOne, 'This is no database, however one looks at it. '.repeat(100))
  expectRefusal(await run(['talk', '--database', `sqlite:${notOne}`], { input: 'R\n' }), {
    status: 1,
    reason: /is not a database/,
  })
  const under = await run(['talk', '--database', `sqlite:${notOne}/shop.db`], { input: 'R\n' })
  expectRefusal(under, { status: 1, reason: /cannot open the database/ })
})
