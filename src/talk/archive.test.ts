import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withEachEngine } from '../../test/harness/contract.ts'
import { isStored } from '../../test/harness/terminal/stored-messages.ts'
import { logIn, PASSWORD, register, type TalkPlace, talkPlace } from '../../test/harness/terminal/talk.ts'

setDefaultTimeout(120_000)

const TIME = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g

/** Registers a user who says these things and gets these answers. */
async function talked(place: TalkPlace, user: string, turns: readonly (readonly [string, string])[]): Promise<void> {
  const talking = place.pipe([...register(user), ...turns.map(([prompt]) => prompt), 'quit'])
  for (const [, answer] of turns) {
    const call = await place.model.nextCall()
    await call.answer(answer)
  }
  await talking
}

const TURNS = [
  ['What is a quokka?', 'A **small** marsupial.'],
  ['And where?', '# Where\n\nOn islands.'],
  ['Thanks', 'You are welcome: ask about Islands again.'],
] as const

withEachEngine('the archive', engine => {
  /** In which two users have talked, for tests that change nothing of that. */
  let place: TalkPlace
  beforeAll(async () => {
    place = await talkPlace(engine)
    await talked(place, 'ada', TURNS)
    await talked(place, 'bob', [['My islands', 'Yours.']])
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
    await place.pipe([...register('carol'), 'quit'])
    expect(await texts(place, 'ada', ['--last', '10000'])).toEqual(TURNS.flat())
    expect(await texts(place, 'carol', ['--last', '10000'])).toEqual([])
    expect((await place.pipe(logIn('carol'), ['--search', 'quokka'])).output).toBe('')
  })

  test('--search prints the messages that have all the words, in any letter case; with --last, the last of them', async () => {
    expect(await texts(place, 'ada', ['--search', 'ISLANDS'])).toEqual([TURNS[1][1], TURNS[2][1]])
    expect(await texts(place, 'ada', ['--search', ' islands   ask '])).toEqual([TURNS[2][1]])
    expect(await texts(place, 'ada', ['--search', 'islands', '--last', '1'])).toEqual([TURNS[2][1]])
    expect(await texts(place, 'ada', ['--search', 'quokka islands'])).toEqual([])
    expect(await texts(place, 'ada', ['--search', '%'])).toEqual([])
  })

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

  test('--export writes the room as markdown into a new file, readable by its owner alone', async () => {
    await using place = await talkPlace(engine)
    await talked(place, 'ada', [
      ['# No heading', 'A **small** answer.'],
      ['Next', 'Cut in code:\n\n```js\nlet a'],
    ])
    const file = join(place.folder, 'room.md')
    const { status, output, errors } = await place.pipe(logIn('ada'), ['--export', file])
    expect({ status, output }).toEqual({ status: 0, output: '' })
    expect(errors).toEndWith(`${file} has all 4 messages of ada.\n`)
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    expect(readFileSync(file, 'utf8').replace(TIME, 'TIME')).toBe(`\
# Conversation of ada

---

**ada**, TIME

> # No heading

---

**ai**, TIME

A **small** answer.

---

**ada**, TIME

> Next

---

**ai**, TIME

Cut in code:

\`\`\`js
let a
\`\`\`
`)
  })

  test('--export of a long room has all of it', async () => {
    await using place = await talkPlace(engine)
    const turns = Array.from({ length: 250 }, (_, turn) => [`question ${turn}`, `answer ${turn}`] as const)
    await talked(place, 'ada', turns)
    const file = join(place.folder, 'room.md')
    await place.pipe(logIn('ada'), ['--export', file])
    const written = readFileSync(file, 'utf8').match(/(?:question|answer) \d+/g)
    expect([...(written ?? [])]).toEqual(turns.flat())
  })

  test('--export overwrites nothing, and says where it cannot write', async () => {
    const file = join(place.folder, 'mine.md')
    writeFileSync(file, 'mine')
    const there = await place.pipe(logIn('ada'), ['--export', file])
    expect(there.status).toBe(1)
    expect(there.errors).toEndWith(`stockroom: ${file} already exists; an export overwrites nothing\n`)
    expect(readFileSync(file, 'utf8')).toBe('mine')
    const nowhere = await place.pipe(logIn('ada'), ['--export', join(place.folder, 'no/such/folder.md')])
    expect(nowhere.status).toBe(1)
    expect(nowhere.errors).toMatch(/stockroom: cannot write .+\n$/)
  })

  test("--forget deletes the room's messages after a yes, from the files too, and nobody else's", async () => {
    await using place = await talkPlace(engine)
    await talked(place, 'ada', [['The secret is xyzzy', 'I keep xyzzy.']])
    await talked(place, 'bob', [['Hello', 'Hello, plugh.']])
    for (const no of ['n', '', 'nonsense', 'yess']) {
      const { status, errors } = await place.pipe([...logIn('ada'), no], ['--forget'])
      expect(status).toBe(0)
      expect(errors).toContain('Delete all 2 messages of ada for good? [y/N] ')
      expect(errors, no).toEndWith('Nothing was deleted.\n')
    }
    expect((await place.pipe(logIn('ada'), ['--forget'])).errors).toEndWith('Nothing was deleted.\n')
    expect(await texts(place, 'ada', ['--last', '9'])).toHaveLength(2)
    const { status, errors } = await place.pipe([...logIn('ada'), 'Y'], ['--forget'])
    expect(status).toBe(0)
    expect(errors).toEndWith('All messages were deleted.\n')
    expect(await texts(place, 'ada', ['--last', '9'])).toEqual([])
    expect(await texts(place, 'bob', ['--last', '9'])).toEqual(['Hello', 'Hello, plugh.'])
    expect(await isStored('plugh', place)).toBe(true)
    expect(await isStored('xyzzy', place)).toBe(false)
  })

  test('an answer to a prompt that was forgotten meanwhile is shown and not stored', async () => {
    await using place = await talkPlace(engine)
    const session = await place.enter('ada')
    session.type('Go\r')
    const call = await place.model.nextCall()
    await call.send('All of it')
    await session.shows('All of it')
    await place.pipe([...logIn('ada'), 'yes'], ['--forget'])
    await call.finish()
    await session.shows(/All of it\nThe room was emptied in the meantime: the answer is not stored\.\n\nada>$/)
    expect(await texts(place, 'ada', ['--last', '9'])).toEqual([])
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

async function texts(place: TalkPlace, user: string, flags: readonly string[]): Promise<string[]> {
  const { output } = await place.pipe(logIn(user), [...flags, '--json'])
  return output
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line).text)
}
