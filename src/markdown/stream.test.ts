import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/harness/any-character.ts'
import { campaign } from '../../test/harness/campaign.ts'
import {
  cut,
  EXAMPLES,
  LINES_OF_MARKDOWN,
  LONG_PARAGRAPHS,
  LONG_TABLES,
  openReadable,
  openWhole,
  SIZES,
} from '../../test/harness/markdown-texts.ts'
import { openMarkdown } from './renderer.ts'

const markdown = await openReadable()
const whole = await openWhole()

/** Fails unless after each piece the stream's HTML is that of the text so far in one go, without any sections. */
function expectSameAsInOneGo(pieces: readonly string[]): void {
  const stream = markdown.stream()
  let text = ''
  for (const piece of pieces) {
    text += piece
    stream.append(piece)
    const html = stream.html()
    // Compared first, since an assertion for each of so many pieces takes longer than rendering them.
    if (html !== whole(text)) expect({ text, html }).toEqual({ text, html: whole(text) })
  }
  expect(markdown.render(text)).toBe(stream.html())
}

function expectSameAtEveryCharacter(text: string): void {
  expectSameAsInOneGo(cut(text, [1]))
}

test('a stream gives what one rendering gives, for each example of the CommonMark specification, cut at every character', () => {
  for (const { text } of EXAMPLES) expectSameAtEveryCharacter(text)
})

campaign(
  'a stream gives what one rendering gives, for examples of the specification one after another, cut anywhere',
  effort => {
    const texts = fc.array(fc.constantFrom(...EXAMPLES.map(({ text }) => text)), { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(texts, fc.constantFrom('', '\n'), SIZES, (parts, between, sizes) =>
        expectSameAsInOneGo(cut(parts.join(between), sizes)),
      ),
      effort.runs(60),
    )
  },
)

campaign(
  'a stream gives what one rendering gives, for any lines that mean something to a block parser, cut anywhere',
  effort => {
    fc.assert(
      fc.property(LINES_OF_MARKDOWN, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
      effort.runs(100),
    )
  },
)

campaign('a stream gives what one rendering gives, for long paragraphs, cut anywhere', effort => {
  fc.assert(
    fc.property(LONG_PARAGRAPHS, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
    effort.runs(8),
  )
})

campaign('a stream gives what one rendering gives, for long tables, cut anywhere', effort => {
  fc.assert(
    fc.property(LONG_TABLES, SIZES, (text, sizes) => expectSameAsInOneGo(cut(text, sizes))),
    effort.runs(40),
  )
})

campaign('a stream gives what one rendering gives, for any text at all, cut anywhere', effort => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), SIZES, (text, sizes) =>
      expectSameAsInOneGo(cut(text, sizes)),
    ),
    effort.runs(100),
  )
})

campaign('a stream gives what one rendering gives, when several pieces arrive between two renderings', effort => {
  fc.assert(
    fc.property(LINES_OF_MARKDOWN, SIZES, fc.array(fc.boolean(), { minLength: 3 }), (text, sizes, looks) => {
      const stream = markdown.stream()
      for (const [turn, piece] of cut(text, sizes).entries()) {
        stream.append(piece)
        if (looks[turn % looks.length]) stream.html()
      }
      expect(stream.html()).toBe(markdown.render(text))
    }),
    effort.runs(200),
  )
})

test('a stream gives what one rendering gives, for an answer of 16,000 characters with everything in it', () => {
  const part =
    '## Part\n\nSome **bold** words and [a link][l].\n\n1. one\n\n   ```ts\n   const a = `x`\n\n   ```\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\n'
  const text = `${part.repeat(Math.ceil(16_000 / part.length))}[l]: https://example.com\n`
  expectSameAsInOneGo(cut(text, [397, 401, 409]))
})

test('a definition makes links of earlier words, and unmakes them if it turns out not to be one', () => {
  expectSameAtEveryCharacter(
    'See [a].\n\n- [b]\n- x\n\n> [a] again\n\nText.\n\n[a]: http://a.a/1 "title"\n[b]: http://b.b\n[c]: x\n',
  )
  expectSameAtEveryCharacter('See [a].\n\nText.\n\n[a]: http://a.a "title" but then more\n')
  expectSameAtEveryCharacter('See [a].\n\nText.\n\n[a]: http://a.a\n"title\nover lines"\n\nEnd.\n')
})

test('a list becomes loose with its last item', () => {
  const stream = markdown.stream()
  stream.append('- a\n- b\n- c\n- d\n- e\n')
  expect(stream.html()).toContain('<li>a</li>')
  stream.append('\n- f')
  expect(stream.html()).toContain('<li>\n<p>a</p>\n</li>')
  stream.append('oo')
  expectSameAtEveryCharacter('- a\n- b\n- c\n- d\n\n-x\n\n- y\n')
})

test('a paragraph becomes a heading, a table or a definition', () => {
  const long = 'word and **bold** '.repeat(60)
  expectSameAsInOneGo(cut(`${long}\n===\nafter\n`, [7]))
  expectSameAsInOneGo(cut(`- ${long}\n  ---\nafter\n`, [7]))
  expectSameAsInOneGo(cut(`${long}| x\n--|--\n| a | b |\n`, [7]))
  expectSameAsInOneGo(cut(`> - ${long}| x\n--|--\n| a | b |\n`, [7]))
  expectSameAsInOneGo(cut(`[${long.slice(0, 900)}]: http://a.b\n\nafter\n`, [7]))
})

test('only spaces and tabs make a blank line', () => {
  for (const blank of [' ', '\t', '\u2028', '\u00a0', '\u3000', '\v', '\f', '\ufeff']) {
    expectSameAtEveryCharacter(`${blank}\n--|--\n--|-- --|--\n\nText.\n`)
  }
})

test('a blank line at the end of code in an item makes the list loose', () => {
  expectSameAtEveryCharacter('- a\n- ```ts\n  let x\n\n- b\n')
})

test('the title of a definition absorbs a quote that had stood by itself', () => {
  expectSameAtEveryCharacter('> [b]: http://n.o\n"tit\n> x\n> y\nz "\n')
})

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

campaign('the HTML is one line, with entities for line breaks', async effort => {
  const oneLine = await openMarkdown()
  fc.assert(
    fc.property(LINES_OF_MARKDOWN, SIZES, (text, sizes) => {
      const stream = oneLine.stream()
      for (const piece of cut(text, sizes)) {
        stream.append(piece)
        expect(stream.html()).not.toMatch(/[\r\n]/)
      }
      expect(stream.html()).toBe(markdown.render(text).replaceAll('\n', '&#10;'))
    }),
    effort.runs(150),
  )
})
