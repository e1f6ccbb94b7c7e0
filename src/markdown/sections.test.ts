import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { anyCharacter } from '../../test/harness/any-character.ts'
import { campaign, type Effort } from '../../test/harness/campaign.ts'
import {
  cut,
  EXAMPLES,
  hostileTexts,
  LINES_OF_MARKDOWN,
  LONG_PARAGRAPHS,
  LONG_TABLES,
  openReadable,
  SIZES,
  textOf,
} from '../../test/harness/markdown-texts.ts'
import { openMarkdown } from './renderer.ts'

const markdown = await openReadable()
/** Renderers whose sections are so short that all but the shortest texts have to be cut. */
const bounded = await Promise.all([9, 60].map(sectionMax => openReadable(sectionMax)))

/** Fails unless a stream that is looked at after each piece ends as one rendering does, here and at the end. */
function expectSameAsInOneGo(markdown: (typeof bounded)[number], pieces: readonly string[], here: number): void {
  const stream = markdown.stream()
  let text = ''
  for (const [index, piece] of pieces.entries()) {
    text += piece
    stream.append(piece)
    const html = stream.html()
    if (index !== here && index !== pieces.length - 1) continue
    if (html !== markdown.render(text)) expect({ text, html }).toEqual({ text, html: markdown.render(text) })
  }
}

function expectSameWhereverCut(texts: fc.Arbitrary<string>, runs: ReturnType<Effort['runs']>): void {
  fc.assert(
    fc.property(fc.constantFrom(...bounded), texts, SIZES, fc.nat(100), (markdown, text, sizes, here) =>
      expectSameAsInOneGo(markdown, cut(text, sizes), here),
    ),
    runs,
  )
}

campaign(
  'sections that had to be cut are the same in a stream, for any lines that mean something to a block parser',
  effort => {
    expectSameWhereverCut(LINES_OF_MARKDOWN, effort.runs(60))
  },
)

campaign('sections that had to be cut are the same in a stream, for examples of the specification', effort => {
  const texts = fc.array(fc.constantFrom(...EXAMPLES.map(({ text }) => text)), { minLength: 1, maxLength: 3 })
  expectSameWhereverCut(
    texts.map(parts => parts.join('')),
    effort.runs(30),
  )
})

campaign('sections that had to be cut are the same in a stream, for long tables', effort => {
  expectSameWhereverCut(LONG_TABLES, effort.runs(8))
})

campaign('sections that had to be cut are the same in a stream, for long paragraphs', effort => {
  expectSameWhereverCut(LONG_PARAGRAPHS, effort.runs(5))
})

campaign('sections that had to be cut are the same in a stream, for any text at all', effort => {
  expectSameWhereverCut(fc.string({ unit: anyCharacter, maxLength: 100 }), effort.runs(60))
})

campaign('a stream of hostile text gives the same HTML as one rendering', effort => {
  for (const text of hostileTexts(effort.size(2_800, 7_000))) {
    const stream = markdown.stream()
    for (const piece of cut(text, [1_201, 399, 1_003])) {
      stream.append(piece)
      stream.html()
    }
    expect(stream.html() === markdown.render(text)).toBeTrue()
  }
})

test('a list that is too long continues as a list, with the next number', () => {
  const items = Array.from({ length: 300 }, (_, index) => `${index + 1}. ${'word '.repeat(19)}\n   word\n`)
  const html = markdown.render(items.join(''))
  expect(html.match(/<li>(?:word ){18}word\nword<\/li>/g)).toHaveLength(300)
  const starts = [...html.matchAll(/<ol(?: start="(\d+)")?>/g)].map(([, start]) => Number(start ?? 1))
  expect(starts.length).toBe(4)
  const lists = html.split('</ol>\n').map(list => list.split('<li>').length - 1)
  expect(starts[1]).toBe(1 + (lists[0] ?? 0))
})

test('a table that is too long continues with its head', () => {
  const rows = Array.from({ length: 400 }, (_, index) => `| ${index} | ${'x'.repeat(40)} |\n`)
  const html = markdown.render(`| n | text |\n|--:|---|\n${rows.join('')}`)
  const tables = html.split('<table>').slice(1)
  expect(tables.length).toBe(3)
  for (const table of tables) expect(table).toContain('<th style="text-align:right">n</th>\n<th>text</th>')
  expect(html.match(/<td>/g)).toHaveLength(400)
  expect(html).not.toContain('<p>')
})

test('a paragraph that is too long continues as the next one, and no character is lost or cut in two', () => {
  const text = `a${'\u{1f600}'.repeat(10_000)}`
  const html = markdown.render(text)
  expect(html.match(/<p>/g)).toHaveLength(3)
  expect(textOf(html).replaceAll('\n', '')).toBe(text)
  expect(html.isWellFormed()).toBeTrue()
})

test('code is never cut, however long it is, in a list or not', () => {
  const lines = Array.from({ length: 700 }, (_, index) => `const a${index} = ${index}`)
  const fence = `\`\`\`ts\n${lines.join('\n')}\n\`\`\`\n`
  const inList = `1. one\n2. two\n\n   ${fence.replaceAll('\n', '\n   ')}\n3. three\n`
  for (const text of [
    fence,
    `${fence}\nafter *it*\n`,
    `before\n${fence}after *it*\n`,
    inList,
    `> ${fence.replaceAll('\n', '\n> ')}`,
  ]) {
    const html = markdown.render(text)
    expect(html.match(/<pre/g)).toHaveLength(1)
    expect(textOf(html.slice(html.indexOf('<pre'), html.indexOf('</pre>')))).toBe(`${lines.join('\n')}\n`)
  }
  expect(markdown.render(inList)).toContain('<ol start="3">\n<li>three</li>\n</ol>\n')
})

test('rows without cells cannot make a table of tens of thousands of cells', () => {
  const columns = 600
  const text = `${'|h'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|\n'.repeat(10_000)}`
  expect(markdown.render(text).match(/<t[hd]>/g)?.length).toBeLessThan(4_096 + columns)
})

campaign('another piece costs no more after 40,000 characters of one unclosed block than after 8,000', async effort => {
  const plain = await openMarkdown()
  const costOf = (text: string) => {
    const stream = plain.stream()
    stream.append(text)
    stream.html()
    const times = Array.from({ length: 5 }, () => {
      stream.append(text.slice(-1))
      // Time of the processor, which other programs do not lengthen.
      const begun = process.cpuUsage()
      stream.html()
      const { user, system } = process.cpuUsage(begun)
      return user + system
    })
    return Math.min(...times)
  }
  const sum = (texts: readonly string[]) => texts.map(costOf).reduce((one, other) => one + other)
  for (const round of effort.rounds(1)) {
    const characters = effort.size(1_000, 40_000)
    const [short, long] = [sum(hostileTexts(characters / 5)), sum(hostileTexts(characters))]
    // Linear work would cost five times as much. Checked in the long rounds only, on a quiet machine.
    if (round > 0) expect(long).toBeLessThan(3 * short)
  }
})
