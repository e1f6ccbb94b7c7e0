import { expect, setDefaultTimeout, test } from 'bun:test'
import { sqlite } from '../../../test/harness/engines.ts'
import { storeTurns } from '../../../test/harness/terminal/stored-turns.ts'
import {
  ALT_ENTER,
  PASSWORD,
  type Session,
  type TalkPlace,
  talkPlace,
  UP,
} from '../../../test/harness/terminal/talk.ts'
import { until } from '../../../test/harness/until.ts'

/** Node's line editor draws a paste line by line, which takes long on a busy machine. */
setDefaultTimeout(120_000)

const LEFT = '\x1b[D'
const DOWN = '\x1b[B'
const BACKSPACE = '\x7f'
/** The editor has drawn its line again. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is meant to match them
const DRAWN_AGAIN = /\x1b\[0J[\s\S]*\x1b\[\d+G$/

/** Answers the prompt and waits for the next one. */
async function answered(place: TalkPlace, session: Session, answer: string): Promise<string> {
  const call = await place.model.nextCall()
  await call.answer(answer)
  await session.shows(new RegExp(`${answer}\n\nada>$`))
  return call.prompt
}

/** Esc counts as Alt for the next key within this time. */
const ESCAPE_MAX_MS = 500

/** A search for the last of them that starts over at each would be felt. */
const PASTED_BREAKS = 10_000

test('a pasted block is one prompt, and a line quit in it does not leave', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.paste('first line\nquit\n\n  indented\nlast line')
  await session.shows(/ada> first line\n\| quit\n\|\n\| {3}indented\n\| last line$/)
  session.type('\r')
  expect(await answered(place, session, 'Read.')).toBe('first line\nquit\n\n  indented\nlast line')
  session.paste('one\n')
  await session.shows(/ada> one\n\|$/)
  session.type('two\r')
  expect((await answered(place, session, 'Both.')).split('\nai: Read.\n').at(-1)).toBe('one\ntwo')
  session.paste('quit\nquit')
  session.type('\r')
  expect((await answered(place, session, 'No.')).endsWith('\nquit\nquit')).toBe(true)
  session.paste('\nquit')
  session.type('\r')
  expect((await answered(place, session, 'Never.')).endsWith('\n\nquit')).toBe(true)
})

test('a pasted block is one prompt even if its marks and line breaks arrive in two pieces', async () => {
  await until(async () => {
    await using place = await talkPlace()
    const session = await place.enter('ada')
    let latestMs = 0
    for (const piece of ['\x1b', '[200~one\r', '\ntwo\x1b', '[201~', '\x1b[', '200~\rthree', '\x1b[2', '01~']) {
      const typed = performance.now()
      session.type(piece)
      await Bun.sleep(20)
      latestMs = Math.max(latestMs, performance.now() - typed)
    }
    // If the machine pauses, the pieces come too late to belong together.
    if (latestMs >= ESCAPE_MAX_MS) return false
    await session.shows(/ada> one\n\| two\n\| three$/)
    session.type('\r')
    expect(await answered(place, session, 'Whole.')).toBe('one\ntwo\nthree')
    return true
  })
})

test('the line and paragraph separators of Unicode in a pasted block do not send it', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.paste('one\u2028two\u2029three')
  await session.shows(/ada> one\n\| two\n\| three$/)
  session.type('\r')
  expect(await answered(place, session, 'Whole.')).toBe('one\ntwo\nthree')
})

test('Alt-Enter begins a new line of the prompt', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type(`one${ALT_ENTER}quit${ALT_ENTER}three\r`)
  expect(await answered(place, session, 'Three.')).toBe('one\nquit\nthree')
  expect(session.screen()).toContain('ada> one\n| quit\n| three\nThree.')
})

test('Enter after Esc sends, and right after it begins a new line, as Alt-Enter in two pieces does', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('one\x1b')
  // The time begins when the program has read it.
  await session.shows(/ada> one$/)
  await Bun.sleep(ESCAPE_MAX_MS + 100)
  session.type('\r')
  expect(await answered(place, session, 'One.')).toBe('one')
  session.type('two\x1b')
  await session.shows(/ada> two$/)
  session.type('\r')
  // On a slow machine, this is not right after it.
  await session.shows(/ada> two\n[|⠋]$/)
})

test('a long prompt is accepted whole, pasted or typed, in one line or many', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const long = Array.from({ length: 200 }, (_, word) => `word${word}`).join(' ')
  session.type(`${long}\r`)
  expect(await answered(place, session, 'One')).toBe(long)
  const block = Array.from({ length: 100 }, (_, line) => `line ${line}: ${'文字 '.repeat(20)}|`).join('\n')
  session.paste(block)
  session.type('\r')
  expect((await answered(place, session, 'Two')).endsWith(`ai: One\n${block}`)).toBe(true)
  const most = 'x'.repeat(32_768)
  session.paste(most)
  session.type('\r')
  expect((await answered(place, session, 'Three')).endsWith(`ai: Two\n${most}`)).toBe(true)
})

test('a paste that is far too long is refused, and the keyboard goes on working, even during an answer', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const tooMuch = `${'x'.repeat(99)}\n`.repeat(1_000)
  session.type('First\r')
  const call = await place.model.nextCall()
  await call.send('Well')
  await session.shows('Well')
  session.paste(tooMuch)
  session.type('Q')
  await call.finish()
  // The Q is dropped if the program has read it before it asks again.
  await session.shows(/\|(?: x+)?Q?$/)
  session.type('\r')
  await session.shows(/limit\s+is\s+32768: shorten it\.\n(\nada>|ada>)/)
  session.type('Second\r')
  expect((await answered(place, session, 'Yes')).split('\n').at(-1)).toEndWith('Second')
})

test('wide characters are edited as they appear', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type(`日本語👩x${LEFT}${BACKSPACE}${LEFT}の`)
  await session.shows(/ada> 日本の語x$/)
  session.type('\r')
  expect(await answered(place, session, 'はい')).toBe('日本の語x')
})

test('resizing the terminal while a prompt takes several rows erases nothing above it, and shows the prompt once', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 30 })
  session.type('question\r')
  await answered(place, session, 'one\n\ntwo')
  session.type(`${'words '.repeat(15)}last`)
  await session.shows(/last$/)
  for (const columns of [25, 80]) {
    const before = session.received().length
    session.resize(columns)
    await until(() => DRAWN_AGAIN.test(session.received().slice(before)))
    session.type('!')
    await session.shows(/!$/)
  }
  await session.shows(/> question\none\n\ntwo\n\nada> (words ){12}wor\nds words words last!!$/)
})

test('pasted text cannot control the terminal', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const before = session.received().length
  session.paste('a\x1b]0;pwned\x07b\x1b[31mc\x03d\x04e')
  await session.shows(/ada> abcde$/)
  session.type('\r')
  expect(await answered(place, session, 'Safe.')).toBe('abcde')
  expect(session.received().slice(before)).not.toContain('pwned')
})

test("arrow-up brings back the room's earlier prompts, those of earlier sessions too", async () => {
  await using place = await talkPlace()
  const first = await place.enter('ada')
  first.type('oldest\r')
  await answered(place, first, 'A')
  first.paste('two\nlines')
  first.type('\r')
  await answered(place, first, 'B')
  first.type('quit\r')
  await first.ended
  const session = await place.enter('ada')
  session.type('newest\r')
  await answered(place, session, 'C')
  session.type(UP)
  await session.shows(/ada> newest$/)
  session.type(UP)
  await session.shows(/ada> two\n\| lines$/)
  session.type(`${UP}${UP}`)
  await session.shows(/ada> oldest$/)
  session.type(DOWN)
  await session.shows(/ada> two\n\| lines$/)
  session.type('\r')
  expect((await answered(place, session, 'D')).endsWith('ai: C\ntwo\nlines')).toBe(true)
  const stranger = await place.enter('bob')
  stranger.type(`${UP}mine\r`)
  const call = await place.model.nextCall()
  expect(call.prompt).toBe('mine')
})

test('an earlier prompt that something else has put into the database cannot control the terminal', async () => {
  await using place = await talkPlace()
  await storeTurns(place, 'ada', [['a\x1b]0;pwned\x07b\x9b31mc', null]])
  await sqlite.write(place.databaseUrl, "UPDATE messages SET sender = 'a\x9b2Jda'")
  const session = place.sit()
  await session.shows('egister?')
  session.type(`L\rada\r${PASSWORD}\r`)
  await session.shows(/ada> abc\n[\s\S]*ada>$/)
  session.type(UP)
  await session.shows(/ada> abc$/)
  expect(session.received()).not.toContain('pwned')
  expect(session.received()).not.toContain('\x9b')
})

test('a returning user sees the last messages of the room, long ones cut', async () => {
  await using place = await talkPlace()
  const first = await place.enter('ada')
  first.type('forgotten\r')
  await answered(place, first, 'long ago')
  first.paste('a question\nof two lines')
  first.type('\r')
  await answered(place, first, 'B')
  first.type('And **this**?\r')
  const call = await place.model.nextCall()
  await call.answer(`# Answer\n\n${Array.from({ length: 30 }, (_, item) => `- item ${item}`).join('\n')}`)
  await first.shows(/item 29\n\nada>$/)
  first.type('quit\r')
  await first.ended
  const session = await place.enter('ada')
  session.type('quit\r')
  await session.ended
  const shown = session.screen().replace(/from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/, 'from TIME')
  expect(shown.slice(shown.indexOf('Welcome'))).toBe(`\
Welcome, ada.
Ctrl-C stops an answer, Alt-Enter breaks a line, arrow-up recalls, quit leaves.

6 messages are stored here. The last is from TIME:

ada> a question
| of two lines
B

ada> And **this**?
Answer

• item 0
• item 1
• item 2
• item 3
• item 4
• item 5
…

ada> quit`)
})

test('Ctrl-D deletes inside a line, and leaves on an empty line', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type(`ab${LEFT}\x04`)
  await session.shows(/ada> a$/)
  session.type(`${BACKSPACE}\x04`)
  expect(await session.ended).toBe(0)
})

test('closing the terminal ends the program, and a signal to end leaves the terminal as it was', async () => {
  await using place = await talkPlace()
  const closed = await place.enter('ada')
  await closed.kill('SIGHUP')
  expect(await closed.ended).toBe(0)
  const told = await place.enter('ada')
  await told.kill('SIGTERM')
  expect(await told.ended).toBe(0)
  expect(told.received()).toEndWith('\x1b[?2004l')
})

test('thousands of empty lines pasted before a word block nothing', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.paste(`${'\n'.repeat(PASTED_BREAKS)}word`)
  await session.shows(/\| word$/)
  session.type('\r')
  expect(await answered(place, session, 'Read.')).toBe(`${'\n'.repeat(PASTED_BREAKS)}word`)
})
