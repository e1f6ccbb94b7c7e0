import { expect, test } from 'bun:test'
import { EXAMPLES, openReadable, textOf } from '../../test/harness/markdown-texts.ts'

const markdown = await openReadable()

/** Removes our additions from HTML, and from the specification's the details that we write in another way. */
function plain(html: string): string {
  return html
    .replace(/<pre[^>]*>/g, '<pre>')
    .replace(/<code [^>]*>/g, '<code>')
    .replace(/<\/?span[^>]*>/g, '')
    .replaceAll(' rel="noopener noreferrer nofollow" target="_blank"', '')
    .replaceAll(' />', '>')
}

test('rendering parses blocks as the CommonMark specification says', () => {
  const sections = [
    ...['Tabs', 'Precedence', 'Thematic breaks', 'ATX headings', 'Setext headings', 'Indented code blocks', 'Inlines'],
    ...['Fenced code blocks', 'Paragraphs', 'Blank lines', 'List items', 'Soft line breaks', 'Textual content'],
  ]
  const examples = EXAMPLES.filter(({ section }) => sections.includes(section))
  expect(examples.length).toBe(180)
  for (const { text, html } of examples) expect(plain(markdown.render(text))).toBe(plain(html))
})

test('rendering parses emphasis, links and definitions as CommonMark says, except HTML and links that it does not make', () => {
  const examples = EXAMPLES.filter(({ text, html }) => plain(markdown.render(text)) === plain(html))
  expect(examples.length).toBe(496)
})

test('rendering has tables with aligned columns', () => {
  expect(markdown.render('| a | b |\n|:-:|--:|\n| `1` | 2 |\n')).toBe(
    '<table>\n<thead>\n<tr>\n<th style="text-align:center">a</th>\n<th style="text-align:right">b</th>\n</tr>\n</thead>\n' +
      '<tbody>\n<tr>\n<td style="text-align:center"><code>1</code></td>\n<td style="text-align:right">2</td>\n</tr>\n' +
      '</tbody>\n</table>\n',
  )
})

test('rendering has struck text and bare addresses, but makes no link of a file name', () => {
  expect(markdown.render('~~no~~ https://example.com/a main.py a@b.example')).toBe(
    '<p><s>no</s> <a href="https://example.com/a" rel="noopener noreferrer nofollow" target="_blank">' +
      'https://example.com/a</a> main.py a@b.example</p>\n',
  )
})

test('rendering highlights fenced code with inline styles for light and dark, and keeps its text', () => {
  const html = markdown.render('```ts\nconst a = "<b>"\n```\n')
  expect(html).toStartWith('<pre class="code" style="color:light-dark(#')
  expect(html).toContain('<code class="language-typescript"><span style="color:light-dark(#')
  expect(textOf(html)).toBe('const a = "<b>"\n\n')
})

test('rendering highlights a line by what the lines before it left open', () => {
  const comment = markdown.render('```ts\n/* a\nlet b = 1 */\n```\n')
  expect(comment).toContain('>let b = 1 */</span>')
})

test('rendering knows languages by their usual names, and shows others without colors', () => {
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

test('a long line of code gets its colors when it ends', () => {
  const line = 'a = 1; '.repeat(20)
  expect(markdown.render(`\`\`\`ts\n${line}`)).toContain(`"language-typescript">${line}</code>`)
  expect(markdown.render(`\`\`\`ts\n${line}\n`)).toContain('"language-typescript">a <span')
})

test('rendering shows a very long line of code without colors', () => {
  expect(markdown.render(`\`\`\`ts\n${'a=1;'.repeat(100)}\nlet b\n\`\`\`\n`)).toContain(
    `"language-typescript">${'a=1;'.repeat(100)}\n<span`,
  )
})

test('code that is nested very deeply goes on without colors, because each line would take longer than the one before', () => {
  const block = (depth: number) => `\`\`\`js\n${'{\n'.repeat(depth)}let b\n\`\`\`\n`
  expect(markdown.render(block(50))).toContain('>let</span>')
  const deep = markdown.render(block(1_000))
  expect(deep).toContain('\n{\nlet b\n</code>')
  expect(textOf(deep)).toBe(`${'{\n'.repeat(1_000)}let b\n\n`)
})
