import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { campaign } from '../../test/harness/campaign.ts'
import { cut, LINES, openReadable, SIZES, textOf } from '../../test/harness/markdown-texts.ts'

const markdown = await openReadable()

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

test('the safety check accepts HTML known to be harmless and refuses HTML that is not', () => {
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

test('no known trick gets through, wherever the text is cut', () => {
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

campaign('no combination of tricks gets through, cut anywhere', effort => {
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
    effort.runs(200),
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

test('an image becomes a link to it, and loads nothing', () => {
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
