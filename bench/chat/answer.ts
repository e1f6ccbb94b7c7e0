/** A model's pieces are words and parts of words. These lengths repeat. */
const PIECE_LENGTHS = [4, 1, 6, 3, 5, 2, 7, 4, 3, 5]

/** A section of prose and one of code, of about the same length; `part` makes each different. */
const PROSE = (part: number) => `## Step ${part}: the shelf of kind ${part * 7}

Each shelf holds **up to ${part * 12} items**, and an item is found by its label. When *nothing* is found, the answer is
empty, not an error; see [the notes](https://notes.example/shelves/${part}) for what that means to a caller.

- Labels begin with \`S${part}-\` and a number of ${part + 2} digits.
- A label is never used again, so that an old link leads nowhere rather than elsewhere.

| rule | bound | beyond it |
| --- | ---: | --- |
| items | ${part * 12} | the oldest goes |
| labels | ${part * 100} | refused |

`

const CODE = (part: number) => `\`\`\`ts
/** The items of shelf ${part}, the newest first. */
export async function itemsOf${part}(shelf: Shelf, limit = ${part * 12}): Promise<Item[]> {
  const rows = await shelf.query<Row>('SELECT id, label FROM items_${part} ORDER BY id DESC LIMIT ?', [limit])
  const items: Item[] = []
  for (const { id, label } of rows) {
    if (!label.startsWith('S${part}-')) throw new Error(\`\${id} is not on shelf ${part}\`)
    items.push({ id, label, seen: new Date(${part * 1_000}) })
  }
  return items.length > 0 ? items : emptyShelf(${part})
}
\`\`\`

`

/** An answer of the given length, half of it code, always the same. */
export function longAnswer(characters: number): string {
  let text = ''
  for (let part = 1; text.length < characters; part += 1) text += PROSE(part) + CODE(part)
  return text.slice(0, characters)
}

/** Cuts the text into pieces as a model would. */
export function piecesOf(text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length; ) {
    const length = PIECE_LENGTHS[pieces.length % PIECE_LENGTHS.length] ?? 1
    pieces.push(text.slice(start, start + length))
    start += length
  }
  return pieces
}
