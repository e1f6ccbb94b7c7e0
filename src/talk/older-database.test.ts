import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withEachEngine } from '../../test/harness/contract.ts'
import type { Engine } from '../../test/harness/engines.ts'
import { connected } from '../../test/harness/postgres/database.ts'
import { isStored } from '../../test/harness/terminal/stored-messages.ts'
import { logIn, PASSWORD, type TalkPlace, talkPlaceOn } from '../../test/harness/terminal/talk.ts'
import { passwordDigest } from './accounts/password.ts'

withEachEngine('an older database', engine => {
  test('a database from before users and rooms were keyed by name keeps its users and messages, and reuses no id', async () => {
    await using place = await olderPlace(engine)
    const talking = place.pipe([...logIn('ada'), 'And now?', 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe('ada: What is xyzzy?\nai: A **word**.\nAnd now?')
    await call.answer('Still a word.')
    expect((await talking).status).toBe(0)
    const { output } = await place.pipe(logIn('ada'), ['--last', '9', '--json'])
    expect(output.match(/"text":"[^"]*"/g)).toEqual([
      '"text":"What is xyzzy?"',
      '"text":"A **word**."',
      '"text":"And now?"',
      '"text":"Still a word."',
    ])
    expect((await place.pipe(logIn('bob'), ['--last', '9', '--json'])).output).toContain('"text":"Hello"')
    const ids = await engine.read<{ id: number }>(place.databaseUrl, 'SELECT id FROM messages ORDER BY id')
    expect(ids.map(({ id }) => Number(id))).toEqual([1, 2, 3, 10, 11])
  })

  test('a database from before users and rooms were keyed by name holds no text of messages deleted after it was changed', async () => {
    await using place = await olderPlace(engine)
    await place.pipe(logIn('bob'), ['--last', '1'])
    expect(await isStored('xyzzy', place)).toBe(true)
    await place.pipe([...logIn('ada'), 'yes'], ['--forget'])
    expect(await isStored('xyzzy', place)).toBe(false)
    expect(await isStored('Hello', place)).toBe(true)
  })
})

/** Two users with one room each, as the first version of the tables had them. The last id given was 9. */
async function olderPlace(engine: Engine): Promise<TalkPlace> {
  await using opened = new AsyncDisposableStack()
  const { url } = opened.use(await engine.freshDatabase())
  {
    await using database = connected(url)
    const isSqlite = url.startsWith('sqlite:')
    const time = isSqlite ? '1700000000000' : 'now()'
    const [room, ada, bob] = isSqlite ? ['room_id', '1', '2'] : ['room', "'ada'", "'bob'"]
    const migration = join(import.meta.dir, 'migrations', isSqlite ? 'sqlite' : 'postgres', '0003_talk.sql')
    await database.unsafe(`
      ${isSqlite ? `PRAGMA application_id = ${0x53_74_6f_63};` : ''}
      CREATE TABLE migrations (name text PRIMARY KEY, applied_at ${isSqlite ? 'text' : 'timestamptz'} NOT NULL);
      INSERT INTO migrations VALUES ('0003_talk', ${time});
      ${readFileSync(migration, 'utf8')}
      INSERT INTO accounts (username, password_sha256, created_at)
        VALUES ('ada', '${passwordDigest(PASSWORD)}', ${time}), ('bob', '${passwordDigest(PASSWORD)}', ${time});
      INSERT INTO rooms (name) VALUES ('ada'), ('bob');
      INSERT INTO messages (${room}, sender, text, sent_at, answer_to) VALUES
        (${ada}, 'ada', 'What is xyzzy?', ${time}, NULL),
        (${ada}, 'ai', 'A **word**.', ${time}, 1),
        (${bob}, 'bob', 'Hello', ${time}, NULL);
      INSERT INTO messages (id, ${room}, sender, text, sent_at) VALUES (9, ${bob}, 'bob', 'Gone', ${time});
      DELETE FROM messages WHERE id = 9;
      ${isSqlite ? '' : 'ALTER TABLE messages ALTER COLUMN id RESTART WITH 10;'}`)
  }
  return talkPlaceOn(url, opened.move())
}
