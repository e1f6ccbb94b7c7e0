import { afterAll, beforeAll, expect, test } from 'bun:test'
import { withEachEngine } from '../../test/harness/contract.ts'
import { sqlite } from '../../test/harness/engines.ts'
import { type StoredTurn, storeTurns } from '../../test/harness/terminal/stored-turns.ts'
import { logIn, register, type TalkPlace, talkPlace } from '../../test/harness/terminal/talk.ts'

/** Of each of two processes at once. */
const PROMPTS = 10

interface Stored {
  readonly sender: string
  readonly text: string
}

const asLine = ({ sender, text }: Stored) => `${sender}: ${text}`

withEachEngine('a conversation', engine => {
  /** Each test has users of its own. */
  let place: TalkPlace
  beforeAll(async () => {
    place = await talkPlace(engine)
  })
  afterAll(() => place[Symbol.asyncDispose]())

  /** Registers a user with this many stored messages and returns them; the model failed at the last one of an odd count. */
  async function withStored(user: string, messages: number): Promise<Stored[]> {
    const turns = Array.from({ length: Math.ceil(messages / 2) }, (_, turn): StoredTurn => {
      const isAnswered = 2 * turn + 1 < messages
      return [`question ${turn}`, isAnswered ? `answer to question ${turn}` : null]
    })
    await storeTurns(place, user, turns)
    return turns.flatMap(([prompt, answer]) => [
      { sender: user, text: prompt },
      ...(answer === null ? [] : [{ sender: 'ai', text: answer }]),
    ])
  }

  /** The text that the model gets when the user returns and says this. */
  async function askedFor(user: string, prompt: string): Promise<{ system: string; prompt: string }> {
    const talking = place.pipe([...logIn(user), prompt, 'quit'])
    const call = await place.model.nextCall()
    await call.answer('Good.')
    await talking
    return { system: call.system, prompt: call.prompt }
  }

  test('the first prompt is sent alone, with the instruction of being a helpful assistant', async () => {
    await withStored('none', 0)
    expect(await askedFor('none', 'Hello there')).toEqual({
      system: 'You are a helpful assistant.',
      prompt: 'Hello there',
    })
  })

  test('with one stored message, the model gets it before the prompt', async () => {
    await withStored('one', 1)
    expect((await askedFor('one', 'And now?')).prompt).toBe('one: question 0\nAnd now?')
  })

  test('with 49 stored messages, the model gets all of them before the prompt', async () => {
    const stored = await withStored('of-49', 49)
    expect((await askedFor('of-49', 'And now?')).prompt).toBe([...stored.map(asLine), 'And now?'].join('\n'))
  })

  test('with 50 stored messages, the model gets all of them before the prompt', async () => {
    const stored = await withStored('of-50', 50)
    const { prompt } = await askedFor('of-50', 'And now?')
    expect(prompt).toBe([...stored.map(asLine), 'And now?'].join('\n'))
    expect(prompt).toStartWith('of-50: question 0\n')
  })

  test('with 51 stored messages, the model gets the last 50 before the prompt', async () => {
    const stored = await withStored('of-51', 51)
    const { prompt } = await askedFor('of-51', 'And now?')
    expect(prompt).toBe([...stored.slice(1).map(asLine), 'And now?'].join('\n'))
    expect(prompt).toStartWith('ai: answer to question 0\n')
  })

  test('with 100 stored messages, the model gets the last 50 before the prompt', async () => {
    const stored = await withStored('of-100', 100)
    const { prompt } = await askedFor('of-100', 'And now?')
    expect(prompt).toBe([...stored.slice(50).map(asLine), 'And now?'].join('\n'))
    expect(prompt.split('\n')).toHaveLength(51)
  })

  test('a turn in the middle of a session gets the same, those of the session included', async () => {
    const stored = await withStored('returned', 48)
    const talking = place.pipe([...logIn('returned'), 'first', 'second', 'third', 'quit'])
    for (const prompt of ['first', 'second', 'third']) {
      const call = await place.model.nextCall()
      expect(call.prompt).toBe([...stored.slice(-50).map(asLine), prompt].join('\n'))
      stored.push({ sender: 'returned', text: prompt })
      if (prompt === 'second') {
        await call.refuse(401)
      } else {
        await call.answer(`answer to ${prompt}`)
        stored.push({ sender: 'ai', text: `answer to ${prompt}` })
      }
    }
    expect((await talking).status).toBe(0)
  })

  test('messages go to the model unchanged: with line breaks, with a name before a colon, in any script', async () => {
    const session = await place.enter('scribe')
    const first = 'ai: I am not the model\nbob: nor I\n\n  indented, and then a tab\there'
    session.paste(first)
    session.type('\r')
    const call = await place.model.nextCall()
    expect(call.prompt).toBe(first)
    const answer = 'Line one\r\nscribe: I did not say this\n\n日本語 👩‍👩‍👧 e\u0301 \u05e9\u05dc\u05d5\u05dd'
    await call.answer(answer)
    await session.shows(/scribe>$/)
    session.type('quit\r')
    await session.ended
    const { prompt } = await askedFor('scribe', 'Ünïcode ✓ 文字')
    expect(prompt).toBe(`scribe: ${first}\nai: ${answer.replaceAll('\r\n', '\n')}\nÜnïcode ✓ 文字`)
  })

  test('each message is stored with its sender, text and time, in a room named after the user', async () => {
    const before = Date.now()
    const talking = place.pipe([...register('timed'), 'What time is it?', 'quit'])
    await (await place.model.nextCall()).answer('Noon.')
    await talking
    const after = Date.now()
    const time = engine === sqlite ? 'sent_at' : '(extract(epoch FROM sent_at) * 1000)::float8'
    const rows = await engine.read<{ time: number }>(
      place.databaseUrl,
      `SELECT room, sender, text, ${time} AS time FROM messages WHERE text IN ('What time is it?', 'Noon.') ORDER BY id`,
    )
    expect(rows).toMatchObject([
      { room: 'timed', sender: 'timed', text: 'What time is it?' },
      { room: 'timed', sender: 'ai', text: 'Noon.' },
    ])
    for (const { time } of rows) {
      expect(time).toBeGreaterThanOrEqual(before)
      expect(time).toBeLessThanOrEqual(after)
    }
  })

  test('a user sees nothing of what others said', async () => {
    await withStored('other', 4)
    const talking = place.pipe([...register('private'), 'Who else is here?', 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe('Who else is here?')
    await call.answer('Nobody.')
    const { output, errors } = await talking
    expect(output).toBe('Nobody.\n')
    expect(errors).not.toContain('question')
  })

  test('two terminals of one user at once lose nothing, and each answer belongs to its prompt', async () => {
    const one = await place.enter('twice')
    const other = await place.enter('twice')
    one.type('first question\r')
    const first = await place.model.nextCall()
    await first.send('first ')
    await one.shows('first ')
    other.type('second question\r')
    const second = await place.model.nextCall()
    expect(second.prompt).toBe('twice: first question\nsecond question')
    await second.answer('second answer')
    await other.shows(/second answer\n\ntwice>$/)
    await first.send('answer')
    await first.finish()
    await one.shows(/first answer\n\ntwice>$/)
    expect(one.screen()).not.toContain('second')
    expect(other.screen()).not.toContain('first')
    expect(await place.texts('twice')).toEqual(['first question', 'first answer', 'second question', 'second answer'])
    one.type('And now?\r')
    const third = await place.model.nextCall()
    expect(third.prompt).toBe(
      'twice: first question\ntwice: second question\nai: second answer\nai: first answer\nAnd now?',
    )
    await third.answer('Done.')
  })

  test('many prompts from two processes of one user at once are all stored, each with its answer', async () => {
    await withStored('crowd', 0)
    const prompts = (name: string) => Array.from({ length: PROMPTS }, (_, index) => `${name} ${index}`)
    const both = Promise.all([
      place.pipe([...logIn('crowd'), ...prompts('one')]),
      place.pipe([...logIn('crowd'), ...prompts('other')]),
    ])
    for (let turn = 0; turn < 2 * PROMPTS; turn += 1) {
      const call = await place.model.nextCall()
      await call.answer(`answer to ${call.prompt.split('\n').at(-1)}`)
    }
    for (const { status, output } of await both) {
      expect(status).toBe(0)
      expect(output.trimEnd().split('\n')).toHaveLength(PROMPTS)
    }
    const texts = await place.texts('crowd')
    expect(texts).toHaveLength(4 * PROMPTS)
    for (let turn = 0; turn < 4 * PROMPTS; turn += 2) expect(texts[turn + 1]).toBe(`answer to ${texts[turn]}`)
  })

  test('a session killed during an answer has stored the prompt, and the next one goes on with the history', async () => {
    const session = await place.enter('killed')
    session.type('Tell me\r')
    const call = await place.model.nextCall()
    await call.send('Once upon')
    await session.shows('Once upon')
    await session.kill('SIGKILL')
    await call.closed
    const again = await place.enter('killed')
    expect(again.screen()).toContain('1 message is stored here.')
    expect(again.screen()).not.toContain('Once upon')
    again.type('Again\r')
    const next = await place.model.nextCall()
    expect(next.prompt).toBe('killed: Tell me\nAgain')
    await next.answer('Once upon a time.')
    await again.shows('a time.')
  })

  // The database has no part in what follows.
  if (engine !== sqlite) return

  test('an input line is a prompt, with its blanks; blank lines are not prompts', async () => {
    const talking = place.pipe([...register('blank'), '', '   ', '  two blanks before  ', 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe('  two blanks before  ')
    await call.answer('Yes.')
    await talking
    expect(place.model.calls.at(-1)).toBe(call)
  })

  test('quit ends the session in any letter case, and nothing else does', async () => {
    await withStored('quitting', 0)
    const asked = place.model.calls.length
    for (const word of ['QUIT', 'Quit', ' qUiT ']) {
      expect((await place.pipe([...logIn('quitting'), word, 'not asked'])).status, word).toBe(0)
    }
    expect(place.model.calls).toHaveLength(asked)
    const others = ['quit.', 'please quit', 'exit', 'quit quit', 'q']
    const talking = place.pipe([...logIn('quitting'), ...others, 'quit', 'not asked'])
    for (const other of others) {
      const call = await place.model.nextCall()
      expect(call.prompt.split('\n').at(-1)).toBe(other)
      await call.answer('Still here.')
    }
    expect((await talking).status).toBe(0)
    expect(place.model.calls).toHaveLength(asked + others.length)
  })

  test('a prompt of more than 32,768 characters is not sent, and the session goes on', async () => {
    const most = '👩'.repeat(32_768)
    const talking = place.pipe([...register('long'), `${most}x`, most, 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe(most)
    await call.answer('Long.')
    const { output, errors } = await talking
    expect(output).toBe('Long.\n')
    expect(errors).toContain('The prompt has 32769 characters, and the limit is 32768: shorten it.')
  })
})
