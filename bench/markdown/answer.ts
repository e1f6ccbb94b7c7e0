/** Meaningless words with the word lengths of English. */
const WORDS =
  'the of a to in is it that for as with on by this an be are from or which when each one has but not all more value list then order item time result server price part only write'.split(
    ' ',
  )

const CODE: readonly { readonly language: string; readonly text: string }[] = [
  {
    language: 'typescript',
    text: `import { readFile } from 'node:fs/promises'

interface Item {
  readonly id: number
  name: string
  price?: number
}

/** Adds up what the items of a file cost. */
export async function total(path: string, limit = 10): Promise<number> {
  const items: Item[] = JSON.parse(await readFile(path, 'utf8'))
  let sum = 0
  for (const { price = 0, name } of items.slice(0, limit)) {
    if (!/^[a-z]+$/i.test(name)) continue // not a name
    sum += price * (1 + 0.2)
  }
  return sum > 100 ? Math.round(sum) : sum
}
`,
  },
  {
    language: 'python',
    text: `from dataclasses import dataclass

@dataclass
class Item:
    """One thing on a list."""
    id: int
    name: str = "none"

def total(path: str, rate: float = 1.2) -> float:
    with open(path, encoding="utf-8") as lines:
        return sum(float(line.split(",")[1]) * rate for line in lines if not line.startswith("#"))
`,
  },
  {
    language: 'bash',
    text: 'set -euo pipefail\nfor file in *.json; do\n  curl --fail -d @"$file" "$HOST/items/" | jq .id\ndone\n',
  },
  {
    language: 'sql',
    text: "SELECT p.id, p.name, avg(r.rating) AS rating\nFROM products p LEFT JOIN reviews r ON r.product_id = p.id\nWHERE p.name LIKE '%a%'\nGROUP BY p.id ORDER BY rating DESC LIMIT 10;\n",
  },
]

export const ANSWER_CHARACTERS = 16_000

/** About a token. */
export const PIECE_CHARACTERS = 4

/** An answer such as a model writes, half of it code. The same length always gives the same text. */
export function sampleAnswer(characters: number): string {
  const random = numbers(1)
  const words = (count: number): string =>
    Array.from({ length: count }, (_, index) => decorated(WORDS[random() % WORDS.length] ?? '', index, random)).join(
      ' ',
    )
  let text = ''
  let prose = 0
  let code = 0
  let blocks = 0
  for (let part = 1; text.length < characters; part++) {
    const begin = text.length
    text += `## ${part}. ${words(4)}\n\n${words(60)}.\n\n`
    if (part % 3 === 1) text += `- ${words(9)}\n- ${words(12)}\n- ${words(7)}\n\n`
    if (part % 3 === 2)
      text += `| ${words(1)} | ${words(1)} |\n|---|--:|\n| ${words(3)} | 12 |\n| ${words(2)} | 7 |\n\n`
    prose += text.length - begin
    while (code < prose) {
      const block = CODE[blocks++ % CODE.length]
      if (!block) break
      text += `\`\`\`${block.language}\n${block.text}\`\`\`\n\n`
      code += block.text.length
    }
  }
  return text.slice(0, characters)
}

/** Cuts the text into pieces as a model would. */
export function piecesOf(text: string): string[] {
  const starts = Array.from(
    { length: Math.ceil(text.length / PIECE_CHARACTERS) },
    (_, piece) => piece * PIECE_CHARACTERS,
  )
  return starts.map(start => text.slice(start, start + PIECE_CHARACTERS))
}

function decorated(word: string, index: number, random: () => number): string {
  switch (index === 0 ? 0 : random() % 16) {
    case 1:
      return `**${word}**`
    case 2:
      return `\`${word}\``
    case 3:
      return `*${word}*`
    case 4:
      return `[${word}](https://example.com/${word})`
    default:
      return word
  }
}

/** A linear congruential generator: the same numbers below 2^15 on each run. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state >>> 16
  }
}
