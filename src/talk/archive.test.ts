import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withEachEngine } from '../../test/harness/contract.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { storeTurns } from '../../test/harness/terminal/stored-turns.ts'
import { logIn, PASSWORD, type TalkPlace, talkPlace } from '../../test/harness/terminal/talk.ts'

setDefaultTimeout(120_000)

const TIME = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g

const TURNS = [
  ['What is a quokka?', 'A **small** marsupial.'],
  ['And where?', '# Where\n\nOn islands.'],
  ['Thanks', 'You are welcome: ask about Islands again.'],
] as const

withEachEngine('the archive', engine => {
  /** In which two users have talked. Tests that change something have users of their own. */
  let place: TalkPlace
  beforeAll(async () => {
    place = await talkPlace(engine)
    await storeTurns(place, 'ada', TURNS)
    await storeTurns(place, 'bob', [['My islands', 'Yours.']])
  })
  afterAll(() => place[Symbol.asyncDispose]())

  test('--last prints the last messages in readable form', async () => {
    const asked = place.model.calls.length
    const { status, output, errors } = await place.pipe(logIn('ada'), ['--last', '3'])
    expect(status).toBe(0)
    expect(output.replace(TIME, 'TIME')).toBe(`\
ai, TIME
# Where

On islands.

ada, TIME
Thanks

ai, TIME
You are welcome: ask about Islands again.

`)
    expect(errors).toBe('[L]og in or [R]egister? L\nUsername: ada\nPassword: \n')
    expect(place.model.calls).toHaveLength(asked)
  })

  test('--last with --json prints them one line each, for scripts', async () => {
    const { output } = await place.pipe(logIn('ada'), ['--last', '2', '--json'])
    const lines = output.split('\n')
    expect(lines.pop()).toBe('')
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { sender: 'ada', text: 'Thanks', timestamp, stopped: false },
      { sender: 'ai', text: 'You are welcome: ask about Islands again.', timestamp, stopped: false },
    ])
  })

  test("--last with a number beyond the room's messages prints all of them, and nothing for an empty room", async () => {
    await storeTurns(place, 'carol', [])
    expect(await place.texts('ada', ['--last', '10000'])).toEqual(TURNS.flat())
    expect(await place.texts('carol', ['--last', '10000'])).toEqual([])
    expect((await place.pipe(logIn('carol'), ['--search', 'quokka'])).output).toBe('')
  })

  test('--search prints the messages that have all the words, in any letter case; with --last, the last of them', async () => {
    expect(await place.texts('ada', ['--search', 'ISLANDS'])).toEqual([TURNS[1][1], TURNS[2][1]])
    expect(await place.texts('ada', ['--search', ' islands   ask '])).toEqual([TURNS[2][1]])
    expect(await place.texts('ada', ['--search', 'islands', '--last', '1'])).toEqual([TURNS[2][1]])
    expect(await place.texts('ada', ['--search', 'quokka islands'])).toEqual([])
    expect(await place.texts('ada', ['--search', '%'])).toEqual([])
  })

  test('--search takes an accented letter and a letter with a combining accent for the same', async () => {
    const turn = ['Un caf\u00e9?', 'CAFE\u0301, oui.'] as const
    await storeTurns(place, 'zoe', [turn, ['Un cafard', 'Non.']])
    expect(await place.texts('zoe', ['--search', 'CAF\u00c9 cafe\u0301'])).toEqual([...turn])
  })

  test('--search is not held up by answers of nothing but combining marks', async () => {
    // To normalize these marks as one text takes seconds for each of them.
    const marks = `${'\u0315'.repeat(32_000)}${'\u0300'.repeat(32_000)}`
    const turns = Array.from({ length: 8 }, () => ['Why?', marks] as const)
    await storeTurns(place, 'marked', [...turns, ['Thanks', `Un cafe\u0301${marks}`]])
    const found = await place.texts('marked', ['--search', 'caf\u00e9'])
    expect(found).toEqual([`Un cafe\u0301${marks}`])
  }, 20_000)

  test('--search takes capitals for small letters in every script, also where one letter has several forms', async () => {
    await storeTurns(place, 'reader', [['Πωσδήποτε in der Großstadt', 'Ναι.']])
    const text = 'Πωσδήποτε in der Großstadt'
    expect(await place.texts('reader', ['--search', 'ΠΩΣ πωσ GROSS gross GROẞ großSTADT'])).toEqual([text])
  })

  test('--export writes the room as markdown into a new file, readable by its owner alone', async () => {
    await storeTurns(place, 'writer', [
      ['# No heading', 'A **small** answer.'],
      ['Next\u2028line', 'Cut in code:\n\n```js\nlet a'],
      ['And in a list?', '1. ```js\n   let b\n   ```\n2. Done.'],
    ])
    const file = join(place.folder, 'room.md')
    const { status, output, errors } = await place.pipe(logIn('writer'), ['--export', file])
    expect({ status, output }).toEqual({ status: 0, output: '' })
    expect(errors).toEndWith(`${file} has all 6 messages of writer.\n`)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    expect(readdirSync(place.folder).filter(name => name.startsWith('room.md'))).toEqual(['room.md'])
    expect(readFileSync(file, 'utf8').replace(TIME, 'TIME')).toBe(`\
# Conversation of writer

---

**writer**, TIME

> # No heading

---

**ai**, TIME

A **small** answer.

---

**writer**, TIME

> Next\u2028line

---

**ai**, TIME

Cut in code:

\`\`\`js
let a
\`\`\`

---

**writer**, TIME

> And in a list?

---

**ai**, TIME

1. \`\`\`js
   let b
   \`\`\`
2. Done.
`)
  })

  test('--export of a long room has all of it', async () => {
    const turns = Array.from({ length: 250 }, (_, turn) => [`question ${turn}`, `answer ${turn}`] as const)
    await storeTurns(place, 'talker', turns)
    const file = join(place.folder, 'long-room.md')
    await place.pipe(logIn('talker'), ['--export', file])
    const written = readFileSync(file, 'utf8').match(/(?:question|answer) \d+/g)
    expect([...(written ?? [])]).toEqual(turns.flat())
  })

  test("--forget deletes the room's messages after a yes, from the files too, and nobody else's", async () => {
    await storeTurns(place, 'leaving', [['The secret is xyzzy', 'I keep xyzzy.']])
    await storeTurns(place, 'staying', [['Hello', 'Hello, plugh.']])
    const { status, errors } = await place.pipe([...logIn('leaving'), 'Y'], ['--forget'])
    expect(status).toBe(0)
    expect(errors).toEndWith('All messages were deleted.\n')
    expect(await place.texts('leaving', ['--last', '9'])).toEqual([])
    expect(await place.texts('staying', ['--last', '9'])).toEqual(['Hello', 'Hello, plugh.'])
    const stored = await engine.everything(place.databaseUrl)
    expect(stored).toContain('plugh')
    expect(stored).not.toContain('xyzzy')
  })

  test('an answer to a prompt that was forgotten meanwhile is shown and not stored', async () => {
    const session = await place.enter('emptied')
    session.type('Go\r')
    const call = await place.model.nextCall()
    await call.send('All of it')
    await session.shows('All of it')
    await place.pipe([...logIn('emptied'), 'yes'], ['--forget'])
    await call.finish()
    await session.shows(/All of it\nThe room was emptied in the meantime: the answer is not stored\.\n\nemptied>$/)
    expect(await place.texts('emptied', ['--last', '9'])).toEqual([])
  })

  // The database has no part in what follows.
  if (engine !== sqlite) return

  test('at a terminal, printed messages are laid out as answers are', async () => {
    const session = place.sit({ flags: ['--last', '3'] })
    await session.shows('egister?')
    session.type(`L\rada\r${PASSWORD}\r`)
    expect(await session.ended).toBe(0)
    expect(session.screen().replace(TIME, 'TIME')).toBe(`\
[L]og in or [R]egister? L
Username: ada
Password:
ai, TIME
Where

On islands.

ada, TIME
Thanks

ai, TIME
You are welcome: ask about Islands again.`)
  })

  test('a message that something else has put into the database drives no terminal, and a script gets all of it', async () => {
    const text = 'a\u009b31m\x7fb\u202ec\u{e0041}'
    await storeTurns(place, 'hostile', [[text, text]])
    const { output } = await place.pipe(logIn('hostile'), ['--last', '2', '--json'])
    expect(output).toMatch(/^[ -~\n]+$/)
    expect(await place.texts('hostile', ['--last', '2'])).toEqual([text, text])
    expect((await place.pipe(logIn('hostile'), ['--last', '2'])).output).toContain('abc\n')
  })

  test('--export overwrites nothing, and says where it cannot write', async () => {
    const file = join(place.folder, 'mine.md')
    writeFileSync(file, 'mine')
    const there = await place.pipe(logIn('ada'), ['--export', file])
    expect(there.status).toBe(1)
    expect(there.errors).toEndWith(`stockroom: ${file} already exists; nothing is overwritten\n`)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    const nowhere = await place.pipe(logIn('ada'), ['--export', join(place.folder, 'no/such/folder.md')])
    expect(nowhere.status).toBe(1)
    expect(nowhere.errors).toMatch(/stockroom: cannot write .+\n$/)
  })

  test('--forget deletes nothing without a yes', async () => {
    await storeTurns(place, 'hesitant', [['Hello', 'Hello.']])
    for (const no of ['n', '', 'nonsense', 'yess']) {
      const { status, errors } = await place.pipe([...logIn('hesitant'), no], ['--forget'])
      expect(status).toBe(0)
      expect(errors).toContain('Delete all 2 messages of hesitant for good? [y/N] ')
      expect(errors, no).toEndWith('Nothing was deleted.\n')
    }
    expect((await place.pipe(logIn('hesitant'), ['--forget'])).errors).toEndWith('Nothing was deleted.\n')
    expect(await place.texts('hesitant', ['--last', '9'])).toHaveLength(2)
  })

  test('nothing of a room is shown without its password', async () => {
    const file = join(place.folder, 'secret.md')
    for (const flags of [['--last', '9'], ['--search', 'a'], ['--export', file], ['--forget']]) {
      const { status, output, errors } = await place.pipe(['L', 'ada', 'wrong', 'L', 'eve', PASSWORD], flags)
      expect({ status, output }, flags.join(' ')).toEqual({ status: 1, output: '' })
      expect(errors).toEndWith('stockroom: nobody has logged in\n')
    }
    expect(existsSync(file)).toBe(false)
  })
})
