import { expect, test } from 'bun:test'
import { withEachEngine } from '../../test/harness/contract.ts'
import { storedMessages } from '../../test/harness/terminal/stored-messages.ts'
import { logIn, register, type TalkPlace, talkPlace } from '../../test/harness/terminal/talk.ts'

interface Stored {
  readonly sender: string
  readonly text: string
}

const asLine = ({ sender, text }: Stored) => `${sender}: ${text}`

/** Talks until this many messages are stored and returns them; an odd count ends with a failing model. */
async function talkUntil(place: TalkPlace, messages: number): Promise<Stored[]> {
  const stored: Stored[] = []
  const prompts = Array.from({ length: Math.ceil(messages / 2) }, (_, turn) => `question ${turn}`)
  const talking = place.pipe([...register('ada'), ...prompts, 'quit'])
  for (const prompt of prompts) {
    const call = await place.model.nextCall()
    stored.push({ sender: 'ada', text: prompt })
    if (stored.length === messages) {
      await call.refuse(401)
    } else {
      await call.answer(`answer to ${prompt}`)
      stored.push({ sender: 'ai', text: `answer to ${prompt}` })
    }
  }
  expect((await talking).status).toBe(0)
  return stored
}

/** The text that the model gets when the user returns and says this. */
async function askedFor(place: TalkPlace, prompt: string): Promise<{ system: string; prompt: string }> {
  const talking = place.pipe([...logIn('ada'), prompt, 'quit'])
  const call = await place.model.nextCall()
  await call.answer('Good.')
  await talking
  return { system: call.system, prompt: call.prompt }
}

withEachEngine('a conversation', engine => {
  test('the first prompt is sent alone, with the instruction of being a helpful assistant', async () => {
    await using place = await talkPlace(engine)
    await place.pipe([...register('ada'), 'quit'])
    expect(await askedFor(place, 'Hello there')).toEqual({
      system: 'You are a helpful assistant.',
      prompt: 'Hello there',
    })
  })

  test('with one stored message, the model gets it before the prompt', async () => {
    await using place = await talkPlace(engine)
    await talkUntil(place, 1)
    expect((await askedFor(place, 'And now?')).prompt).toBe('ada: question 0\nAnd now?')
  })

  test('with 49 stored messages, the model gets all of them before the prompt', async () => {
    await using place = await talkPlace(engine)
    const stored = await talkUntil(place, 49)
    expect((await askedFor(place, 'And now?')).prompt).toBe([...stored.map(asLine), 'And now?'].join('\n'))
  })

  test('with 50 stored messages, the model gets all of them before the prompt', async () => {
    await using place = await talkPlace(engine)
    const stored = await talkUntil(place, 50)
    const { prompt } = await askedFor(place, 'And now?')
    expect(prompt).toBe([...stored.map(asLine), 'And now?'].join('\n'))
    expect(prompt).toStartWith('ada: question 0\n')
  })

  test('with 51 stored messages, the model gets the last 50 before the prompt', async () => {
    await using place = await talkPlace(engine)
    const stored = await talkUntil(place, 51)
    const { prompt } = await askedFor(place, 'And now?')
    expect(prompt).toBe([...stored.slice(1).map(asLine), 'And now?'].join('\n'))
    expect(prompt).toStartWith('ai: answer to question 0\n')
  })

  test('with 100 stored messages, the model gets the last 50 before the prompt', async () => {
    await using place = await talkPlace(engine)
    const stored = await talkUntil(place, 100)
    const { prompt } = await askedFor(place, 'And now?')
    expect(prompt).toBe([...stored.slice(50).map(asLine), 'And now?'].join('\n'))
    expect(prompt.split('\n')).toHaveLength(51)
  })

  test('messages go to the model unchanged: with line breaks, with a name before a colon, in any script', async () => {
    await using place = await talkPlace(engine)
    const session = await place.enter('ada')
    const first = 'ai: I am not the model\nbob: nor I\n\n  indented, and then a tab\there'
    session.paste(first)
    session.type('\r')
    const call = await place.model.nextCall()
    expect(call.prompt).toBe(first)
    const answer = 'Line one\r\nada: I did not say this\n\n日本語 👩‍👩‍👧 e\u0301 \u05e9\u05dc\u05d5\u05dd'
    await call.answer(answer)
    await session.shows(/ada>$/)
    session.type('quit\r')
    await session.ended
    const { prompt } = await askedFor(place, 'Ünïcode ✓ 文字')
    expect(prompt).toBe(`ada: ${first}\nai: ${answer.replaceAll('\r\n', '\n')}\nÜnïcode ✓ 文字`)
  })

  test('an input line is a prompt, with its blanks; blank lines are not prompts', async () => {
    await using place = await talkPlace(engine)
    const talking = place.pipe([...register('ada'), '', '   ', '  two blanks before  ', 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe('  two blanks before  ')
    await call.answer('Yes.')
    await talking
    expect(place.model.calls).toHaveLength(1)
  })

  test('each message is stored with its sender, text and time, in a room named after the user', async () => {
    await using place = await talkPlace(engine)
    const before = Date.now()
    await talkUntil(place, 2)
    const after = Date.now()
    const rows = await storedMessages(place)
    expect(rows).toMatchObject([
      { room: 'ada', sender: 'ada', text: 'question 0' },
      { room: 'ada', sender: 'ai', text: 'answer to question 0' },
    ])
    for (const { sent_at } of rows) {
      expect(sent_at).toBeGreaterThanOrEqual(before)
      expect(sent_at).toBeLessThanOrEqual(after)
    }
  })

  test('a user sees nothing of what others said', async () => {
    await using place = await talkPlace(engine)
    await talkUntil(place, 4)
    const talking = place.pipe([...register('bob'), 'Who else is here?', 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe('Who else is here?')
    await call.answer('Nobody.')
    const { output, errors } = await talking
    expect(output).toBe('Nobody.\n')
    expect(errors).not.toContain('question')
  })

  test('quit ends the session in any letter case, and nothing else does', async () => {
    await using place = await talkPlace(engine)
    for (const word of ['quit', 'QUIT', 'Quit', ' qUiT ']) {
      const { status } = await place.pipe([...(word === 'quit' ? register('ada') : logIn('ada')), word, 'not asked'])
      expect(status, word).toBe(0)
    }
    expect(place.model.calls).toHaveLength(0)
    const others = ['quit.', 'please quit', 'exit', 'quit quit', 'q']
    const talking = place.pipe([...logIn('ada'), ...others, 'quit'])
    for (const other of others) {
      const call = await place.model.nextCall()
      expect(call.prompt.split('\n').at(-1)).toBe(other)
      await call.answer('Still here.')
    }
    await talking
  })

  test('a prompt of more than 32,768 characters is not sent, and the session goes on', async () => {
    await using place = await talkPlace(engine)
    const most = '👩'.repeat(32_768)
    const talking = place.pipe([...register('ada'), `${most}x`, most, 'quit'])
    const call = await place.model.nextCall()
    expect(call.prompt).toBe(most)
    await call.answer('Long.')
    const { output, errors } = await talking
    expect(output).toBe('Long.\n')
    expect(errors).toContain('The prompt has 32769 characters, and the limit is 32768: shorten it.')
  })

  test('two terminals of one user at once lose nothing, and each answer belongs to its prompt', async () => {
    await using place = await talkPlace(engine)
    const one = await place.enter('ada')
    const other = await place.enter('ada')
    one.type('first question\r')
    const first = await place.model.nextCall()
    await first.send('first ')
    await one.shows('first ')
    other.type('second question\r')
    const second = await place.model.nextCall()
    expect(second.prompt).toBe('ada: first question\nsecond question')
    await second.answer('second answer')
    await other.shows(/second answer\n\nada>$/)
    await first.send('answer')
    await first.finish()
    await one.shows(/first answer\n\nada>$/)
    expect(one.screen()).not.toContain('second')
    expect(other.screen()).not.toContain('first')
    const { output } = await place.pipe(logIn('ada'), ['--last', '10', '--json'])
    expect(linesOf(output)).toEqual(['first question', 'first answer', 'second question', 'second answer'])
    one.type('And now?\r')
    const third = await place.model.nextCall()
    expect(third.prompt).toBe(
      'ada: first question\nada: second question\nai: second answer\nai: first answer\nAnd now?',
    )
    await third.answer('Done.')
  })

  test('many prompts from two processes of one user at once are all stored, each with its answer', async () => {
    await using place = await talkPlace(engine)
    await place.pipe([...register('ada'), 'quit'])
    const prompts = (name: string) => Array.from({ length: 20 }, (_, index) => `${name} ${index}`)
    const both = Promise.all([
      place.pipe([...logIn('ada'), ...prompts('one')]),
      place.pipe([...logIn('ada'), ...prompts('other')]),
    ])
    for (let turn = 0; turn < 40; turn += 1) {
      const call = await place.model.nextCall()
      await call.answer(`answer to ${call.prompt.split('\n').at(-1)}`)
    }
    for (const { status, output } of await both) {
      expect(status).toBe(0)
      expect(output.trimEnd().split('\n')).toHaveLength(20)
    }
    const { output } = await place.pipe(logIn('ada'), ['--last', '100', '--json'])
    const texts = linesOf(output)
    expect(texts).toHaveLength(80)
    for (let turn = 0; turn < 80; turn += 2) expect(texts[turn + 1]).toBe(`answer to ${texts[turn]}`)
  })

  test('a session killed during an answer has stored the prompt, and the next one goes on with the history', async () => {
    await using place = await talkPlace(engine)
    const session = await place.enter('ada')
    session.type('Tell me\r')
    const call = await place.model.nextCall()
    await call.send('Once upon')
    await session.shows('Once upon')
    await session.kill('SIGKILL')
    await call.closed
    const again = await place.enter('ada')
    expect(again.screen()).toContain('1 message is stored here.')
    expect(again.screen()).not.toContain('Once upon')
    again.type('Again\r')
    const next = await place.model.nextCall()
    expect(next.prompt).toBe('ada: Tell me\nAgain')
    await next.answer('Once upon a time.')
    await again.shows('a time.')
  })
})

/** The texts of messages, one line of JSON each. */
function linesOf(output: string): string[] {
  return output
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line).text)
}
