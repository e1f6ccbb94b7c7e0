import { expect, test } from 'bun:test'
import { stringWidth } from 'bun'
import { CTRL_C, logIn, talkPlace } from '../../../test/harness/terminal/talk.ts'
import { until } from '../../../test/harness/until.ts'

/** A terminal that reports no size, as in a container's first moment. */
const WITHOUT_SIZE = ['sh', '-c', 'stty cols 0 rows 0 && exec "$@"', 'sh']

const ANSWER = `# Title

Some **bold**, *slanted* and \`inline\` text that is longer than the terminal is wide.

- one
- two with a [link](https://example.com)
  1. nested

\`\`\`js
const a = 'x' // note
\`\`\`

> Quoted

| Name | Count |
| ---- | ----: |
| 日本 | 12 |
`

/** Each row makes the first column wider. */
const TABLE_THAT_GROWS = Array.from({ length: 9 }, (_, row) => `| ${'wider'.repeat(row)} | cell${row} |`)
  .toSpliced(1, 0, '| - | - |')
  .join('\n')

const CODE_IN_LISTS = `\
Do:

1. \`\`\`bash
   npm i
   \`\`\`
2. Then **run** it.
   - ~~~
     stockroom serve
     ~~~

     It *starts*.

Now **rest**.
`

const CODE_IN_LISTS_SHOWN = `\
ada> Show me
Do:

1. \`\`\`bash
   npm i
   \`\`\`
2. Then run it.
   - ~~~
     stockroom serve
     ~~~

     It starts.

Now rest.

ada>`

const ANSWER_SHOWN = `\
ada> Show me
Title

Some bold, slanted and inline text that
is longer than the terminal is wide.

• one
• two with a link (https://example.com)
  1. nested

\`\`\`js
const a = 'x' // note
\`\`\`

│ Quoted

Name │ Count
─────┼──────
日本 │    12

ada>`

test('an answer appears as it arrives, after a spinner that turns until the first word', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('Tell me\r')
  const call = await place.model.nextCall()
  await session.shows(/ada> Tell me\n⠋$/)
  await session.shows(/ada> Tell me\n⠙$/)
  await call.think('Well')
  await session.shows(/ada> Tell me\n⠋$/)
  await call.send('One ')
  await session.shows(/ada> Tell me\nOne$/)
  await call.send('two\n\nth')
  await session.shows(/ada> Tell me\nOne two\n\nth$/)
  await call.send('ree')
  await session.shows(/ada> Tell me\nOne two\n\nthree$/)
  await call.finish()
  await session.shows(/ada> Tell me\nOne two\n\nthree\n\nada>$/)
})

test('markdown is laid out for the terminal, and its code highlighted, wherever its pieces are cut', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40 })
  for (const size of [1, 7, ANSWER.length]) {
    session.type('Show me\r')
    const call = await place.model.nextCall()
    for (let at = 0; at < ANSWER.length; at += size) await call.send(ANSWER.slice(at, at + size))
    await call.finish()
    await session.shows(/12\n\nada>$/)
    expect(lastTurn(session.screen()), `pieces of ${size}`).toBe(ANSWER_SHOWN)
    session.type('\x0c')
    await session.shows(/^ada>$/m)
  }
  expect(session.received()).toContain('\x1b[35mconst\x1b[39m')
  expect(session.received()).toContain("\x1b[32m'x'\x1b[39m")
  expect(session.received()).toContain('\x1b[1mbold\x1b[22m')
})

test('code that begins on the line of a list marker ends where its fence ends, and is not wrapped', async () => {
  await using place = await talkPlace()
  const laidOut = await place.enter('ada', { columns: 40 })
  laidOut.type('Show me\r')
  await (await place.model.nextCall()).answer(...pieces(CODE_IN_LISTS, 3))
  await laidOut.shows(/rest\.\n\nada>$/)
  expect(lastTurn(laidOut.screen())).toBe(CODE_IN_LISTS_SHOWN)
  const plain = await place.enter('bob', { columns: 40, environment: { NO_COLOR: '1' } })
  plain.type('Show me\r')
  const text = `1. \`\`\`bash\n   ${'code '.repeat(8)}\n   \`\`\`\n2. ${'word '.repeat(8)}\nEnd.`
  await (await place.model.nextCall()).answer(text)
  await plain.shows(/End\.\n\nbob>$/)
  expect(plain.screen()).toContain(`${'code '.repeat(7)}co\nde\n   \`\`\`\n2. ${'word '.repeat(6)}word\n   word\n`)
})

test('code that shows a list with code in it ends where its own fence ends', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40 })
  const code =
    '```markdown\n1. One\n    ```sh\n    npm i\n    ```\n2. **Two**\n\t```sh\n\tnpm t\n\t```\n3. **Three**\n```\n'
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.answer(...pieces(`${code}\nThat is **all**.\n`, 7))
  await session.shows(/all\.\n\nada>$/)
  expect(lastTurn(session.screen())).toContain(`\n${code.replaceAll('\t', ' '.repeat(8))}\nThat is all.\n`)
})

test('items after code in a nested list are laid out, not shown as code', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40 })
  const text =
    '1.  Install:\n    *   Run **this**:\n        ```sh\n        npm i\n        ```\n    *   Then **do** that.\n2.  Done.\n'
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.answer(...pieces(`- ~~~\n  npm t\n  \t~~~\n\n${text}`, 7))
  await session.shows(/Done\.\n\nada>$/)
  expect(lastTurn(session.screen())).toContain('\n        ```\n    • Then do that.\n2. Done.\n')
})

test('links by reference are shown with the list of their addresses', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const text = 'See [the docs][1],\n[rfc] and ![a map][1].\n\n**Sources**\n\n'
  const addresses = '[1]: https://example.com/__main__.html\n[rfc]: <https://example.org/rfc> "RFC"\n[^2]: A *note*'
  session.type('Show me\r')
  await (await place.model.nextCall()).answer(...pieces(`${text}${addresses}\n\nEnd.`, 5))
  await session.shows(/End\.\n\nada>$/)
  expect(lastTurn(session.screen())).toBe(`\
ada> Show me
See [the docs][1], [rfc] and ![a map][1].

Sources

[1]: https://example.com/__main__.html
[rfc]: https://example.org/rfc "RFC"
[^2]: A note

End.

ada>`)
})

test('with NO_COLOR, the answer is plain text, wrapped between words, without any color', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40, environment: { NO_COLOR: '1' } })
  session.type('Show me\r')
  const call = await place.model.nextCall()
  await call.answer(...pieces(ANSWER, 5))
  await session.shows(/\| 12 \|\n\nada>$/)
  const shown = `ada> Show me\n${ANSWER}\nada>`
  expect(lastTurn(session.screen())).toBe(
    shown.replace('`inline` text that', '`inline`\ntext that').replace('terminal is wide', 'terminal is\nwide'),
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
  expect(session.received()).not.toMatch(/\x1b\[[0-9;]*m/)
})

test('a terminal that cannot move its cursor gets plain text', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { environment: { TERM: 'dumb' } })
  const before = session.received().length
  session.type('Show me\r')
  const call = await place.model.nextCall()
  await call.answer(...pieces('**Plain** text', 3))
  await session.shows(/\*\*Plain\*\* text\n\nada>$/)
  expect(session.received().slice(before)).toContain('**Plain** text')
  expect(session.received()).not.toContain('\x1b[?2004h')
})

test('text is wrapped to the width of the terminal, wide characters too', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 21 })
  session.type('Go\r')
  const call = await place.model.nextCall()
  const text = '一二三四五六七八九十一二三四五六七八九十 and 👩 some words behind them that are short'
  await call.answer(...pieces(text, 1))
  await session.shows(/short\n\nada>$/)
  const rows = lastTurn(session.screen()).split('\n').slice(1, -2)
  expect(rows.length).toBeGreaterThan(4)
  for (const row of rows) expect(stringWidth(row), row).toBeLessThanOrEqual(21)
  expect(rows.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
})

test('a combining mark at the edge of the terminal stays with its letter', async () => {
  await using place = await talkPlace()
  const accented = 'e\u0301'.repeat(30)
  const thai = 'ที่นี่มีน้ำใจและความสุขสำหรับทุกคนในหมู่บ้านเล็กๆแห่งนี้'
  const text = `${accented}\n\n> ${thai}\n\n| ${thai} |\n| - |\n| ${accented} |\n\n**${accented}** *${thai}*`
  for (const [columns, environment] of [
    [10, {}],
    [13, { NO_COLOR: '1' }],
  ] as const) {
    const session = await place.enter('ada', { columns, environment })
    session.type('Go\r')
    const call = await place.model.nextCall()
    await call.send(text)
    await session.shows(/นี้\**$/)
    await call.finish()
    await session.shows(/\n\nada>$/)
    const shown = lastTurn(session.screen())
    expect(shown).not.toMatch(/^[│ ]*\p{M}/mu)
    expect(bare(shown)).toBe(bare(`ada> Go ${text} ada>`))
  }
})

test('an answer longer and wider than the terminal is shown whole, each row once', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40, rows: 8 })
  const items = Array.from({ length: 40 }, (_, item) => `- item ${item}`)
  const code = `\`\`\`js\n\tlet wide = '${'x'.repeat(90)}'\n\`\`\``
  const text = `${items.join('\n')}\n\n${code}\n\n> \`\`\`\n> ${'y'.repeat(90)}\n> \`\`\`\n\nEnd.`
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.answer(...pieces(text, 2))
  await session.shows(/End\.\n\nada>$/)
  const shown = lastTurn(session.screen())
  for (const item of items) expect(shown.match(new RegExp(`^• ${item.slice(2)}$`, 'gm')), item).toHaveLength(1)
  expect(shown.match(/x/g)).toHaveLength(90)
  expect(shown.match(/y/g)).toHaveLength(90)
  expect(shown.match(/let wide/g)).toHaveLength(1)
  expect(shown.match(/End\./g)).toHaveLength(1)
})

test('a list or table longer than the terminal shows each item once, even if a late one changes the layout of all', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40, rows: 10 })
  const items = Array.from({ length: 12 }, (_, item) => `item${item}`)
  const list = `${items.map(item => `- ${item}`).join('\n')}\n\n- loose`
  const rows = items.map(item => `| ${item} one two three four five six | b |`)
  const table = `| A | B |\n| - | - |\n${rows.join('\n')}\n| last | ${'wide '.repeat(6)}|`
  const alike = list.replaceAll(/item\d\b/g, 'item')
  for (const [asked, text] of Object.entries({ List: list, Table: table, Alike: alike })) {
    session.type(`${asked}\r`)
    const call = await place.model.nextCall()
    const [before = '', last = ''] = text.split(/\n(?=\n- loose|\| last)/)
    await call.send(before)
    await until(() => new RegExp(`^ada> ${asked}\\b[^]*item11`).test(lastTurn(session.screen())))
    await call.answer(`\n${last}`)
    await session.shows(new RegExp(`ada> ${asked}\\b[^]*(loose|last .*\\n.*)\\n\\nada>$`))
    expect(lastTurn(session.screen()).match(/item\d*/g)).toEqual(text.match(/item\d*/g))
  }
})

test('a table of many columns fits the terminal: short cells take no more room than they need, and longer ones are wrapped', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 80 })
  const row = (cells: readonly unknown[]) => `| ${cells.join(' | ')} |`
  const months = Array.from({ length: 13 }, (_, month) => month + 1)
  const table = [row(months), row(months.map(() => '-')), row(months.map(month => month + 20))].join('\n')
  const sentences = [row(months), row(months.map(() => '-')), row(months.map(month => `about ${month}`))].join('\n')
  session.type('Go\r')
  const call = await place.model.nextCall()
  await call.answer(`${table}\n\n${sentences}\n\nEnd.`)
  await session.shows(/End\.\n\nada>$/)
  const shown = lastTurn(session.screen()).split('\n')
  expect(shown).toContain(months.map(month => month + 20).join(' │ '))
  expect(shown.filter(line => line.includes('┼')).map(line => stringWidth(line))).toEqual([13 * 2 + 12 * 3, 80])
})

test('a line of code is shown whole, each word once, even if it is longer than the terminal is high', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 40, rows: 8 })
  const words = Array.from({ length: 75 }, (_, word) => `word${word}`)
  const longWords = ['a', 'b', 'c'].map(letter => letter.repeat(75))
  const code = `\`\`\`js\nlet it = ${longWords.join(' ')}\n${words.join(' ')}\n\`\`\``
  const text = `${code}\n\n> ${code.replaceAll('\n', '\n> ')}`
  session.type('Go\r')
  const call = await place.model.nextCall()
  let sent = ''
  for (const piece of pieces(text, 30)) {
    sent += piece
    await call.send(piece)
    await until(() => bare(session.screen()).endsWith(bare(sent).slice(-12)))
  }
  await call.finish()
  await session.shows(/```\n\nada>$/)
  expect(bare(lastTurn(session.screen()))).toBe(bare(`ada> Go ${text} ada>`))
})

test('resizing the terminal during an answer loses nothing of it and doubles nothing', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { columns: 60, rows: 12 })
  session.type('Go\r')
  const call = await place.model.nextCall()
  let sent = ''
  const send = async (text: string) => {
    for (const piece of pieces(text, 24)) {
      sent += piece
      await call.send(piece)
      await until(() => bare(session.screen()).endsWith(bare(sent).slice(-12)))
    }
  }
  // Each change of width comes within a strong word, so that its line is drawn again.
  await send(`First.\n\nSecond: ${strongWords('before', 4)} **chan`)
  session.resize(30)
  await send(`ged** ${strongWords('narrow', 12)}\n\n${TABLE_THAT_GROWS}\n\n- ${strongWords('item', 12)} **chan`)
  session.resize(70)
  await send(`ged** ${strongWords('wide', 6)}\n\nThird: ${strongWords('last', 6)}`)
  await call.finish()
  await session.shows(/\n\nada>$/)
  expect(bare(lastTurn(session.screen()))).toBe(bare(`ada> Go ${sent} ada>`))
})

test('what the model writes cannot control the terminal', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const attack =
    'a\x1b]0;pwned\x07b\x1b[2Jc\x1b]52;c;cHduZWQ=\x1b\\d\x9b31me\x9d0;pwned\x9cf\x1b]8;;http://x.example\x07g\x1b(0h\x08\x08\r\ni\x7f\0j' +
    '\x1bPpwned\x1b\\k\x1b[?1049hl\x1b[201~m &#27;[2J &#x9b;1m\n\n```\n\x1b[31mn\x1bco\n```\n'
  session.type('Attack\r')
  const whole = await place.model.nextCall()
  await whole.answer(attack)
  await session.shows(/o\n```\n\nada>$/)
  session.type('Attack again\r')
  const cut = await place.model.nextCall()
  await cut.answer(...attack)
  await session.shows(/Attack again[\s\S]*o\n```\n\nada>$/)
  const received = session.received().slice(session.received().indexOf('Attack'))
  for (const driving of ['\x1b]', '\x1b[2J', '\x1b[?1049', '\x1b(', '\x1bP', '\x1bc', '\x9b', '\x9d', '\x08', '\0']) {
    expect(received, JSON.stringify(driving)).not.toContain(driving)
  }
  expect(session.screen()).not.toContain('pwned')
  const [first, , second] = await place.texts('ada', ['--last', '3'])
  for (const text of [first, second]) {
    expect(text).toBe('abcdefgh\ni\uFFFDjklm &#27;[2J &#x9b;1m\n\n```\nno\n```\n')
  }
})

test('a terminal of unknown size counts as 80 columns', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada', { through: WITHOUT_SIZE, rows: 24 })
  session.type('Go\r')
  const call = await place.model.nextCall()
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
  await call.answer(...pieces(`- ${words}\n- end`, 3))
  await session.shows(/• end\n\nada>$/)
  const rows = lastTurn(session.screen()).split('\n').slice(1, -3)
  expect(rows.join(' ').replaceAll(/ +/g, ' ')).toBe(`• ${words}`)
  expect(rows.length).toBe(Math.ceil(words.length / 78))
  for (const row of rows) expect(row.length).toBeLessThanOrEqual(80)
  // The line editor counts typed rows with the same width.
  session.type(`${'x'.repeat(100)}\x01y`)
  await session.shows(/ada> yx{74}\nx{26}$/)
  expect(session.screen().match(/ada>/g)).toHaveLength(2)
})

test('what the model writes cannot reorder a displayed line', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  const unseen = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u{e0001}\u{e0041}']
  const hebrew = '\u05e9\u05dc\u05d5\u05dd'
  const text = `a ${hebrew} ${unseen.join('b')} c &#x202e;d &#x2067;e \`\u202ef\` [g](https://h.example/\u202ei) 👩\u200d🌾`
  session.type('Attack\r')
  await (await place.model.nextCall()).answer(...text)
  await session.shows(/👩\u200d🌾\n\nada>$/u)
  const received = session.received().slice(session.received().indexOf('Attack'))
  for (const character of unseen)
    expect(received, character.codePointAt(0)?.toString(16) ?? '').not.toContain(character)
  expect(lastTurn(session.screen())).toContain(`a ${hebrew} ${'b'.repeat(13)} c d e f g`)
  const { output } = await place.pipe(logIn('ada'), ['--last', '1'])
  for (const character of unseen) expect(output).not.toContain(character)
  expect(output).toContain(hebrew)
})

test('half characters do not become a whole one when what stood between them is removed', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('Attack\r')
  const call = await place.model.nextCall()
  await call.answer('a\udb40', '\x18', '\udc41b', 'c\udb40\x1b[31m\udc42d', 'e\udb40\u200e', '\udc43f.')
  await session.shows(/f\.\n\nada>$/)
  expect(lastTurn(session.screen())).toContain('a\ufffd\ufffdbc\ufffd\ufffdde\ufffd\ufffdf.')
  expect(session.received()).not.toMatch(/[\u{e0000}-\u{e007f}]/u)
  expect((await place.texts('ada')).at(-1)).toBe('a\ufffd\ufffdbc\ufffd\ufffdde\ufffd\ufffdf.')
})

test('Ctrl-C stops an answer and keeps its text so far, marked, and the session goes on', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('Tell me\r')
  const call = await place.model.nextCall()
  await call.send('Once upon a')
  await session.shows('Once upon a')
  session.type(CTRL_C)
  await session.shows(/Once upon a\n\[stopped; the answer so far is stored\]\n\nada>$/)
  await call.closed
  session.type('Go on\r')
  const next = await place.model.nextCall()
  expect(next.prompt).toBe('ada: Tell me\nai: Once upon a\nGo on')
  await next.answer(' time.')
  await session.shows(/time\.\n\nada>$/)
  const { output } = await place.pipe(logIn('ada'), ['--last', '3', '--json'])
  const messages = output
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(messages).toMatchObject([
    { sender: 'ai', text: 'Once upon a', stopped: true },
    { sender: 'ada', text: 'Go on', stopped: false },
    { sender: 'ai', text: ' time.', stopped: false },
  ])
})

test('Ctrl-C before the first word stops the answer too, and only the prompt is stored', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('Tell me\r')
  const call = await place.model.nextCall()
  await session.shows('⠋')
  session.type(CTRL_C)
  await session.shows(/ada> Tell me\n\[stopped\]\n\nada>$/)
  await call.closed
  expect(await place.texts('ada')).toEqual(['Tell me'])
})

test('what is typed during an answer is the next prompt, unless Ctrl-C comes after it', async () => {
  await using place = await talkPlace()
  const session = await place.enter('ada')
  session.type('First\r')
  const first = await place.model.nextCall()
  await first.send('Well')
  await session.shows('Well')
  session.type('Second\rnot sent')
  await first.finish()
  const second = await place.model.nextCall()
  expect(second.prompt).toBe('ada: First\nai: Well\nSecond')
  session.type(`never sent\r${CTRL_C}`)
  await session.shows(/\[stopped\]\n\nada>$/)
  expect(session.screen()).not.toContain('never sent')
  expect(await place.texts('ada')).toEqual(['First', 'Well', 'Second'])
})

/** The text after the last prompt that was sent. */
function lastTurn(screen: string): string {
  return screen.slice(screen.lastIndexOf('ada> '))
}

/** Text without white space and the marks of markdown. */
function bare(text: string): string {
  return text.replace(/[\s*•>|│┼─-]/g, '')
}

function strongWords(word: string, count: number): string {
  return Array.from({ length: count }, (_, index) => `**${word}${index}**`).join(' ')
}

function pieces(text: string, size: number): string[] {
  const characters = [...text]
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, piece) =>
    characters.slice(piece * size, (piece + 1) * size).join(''),
  )
}
