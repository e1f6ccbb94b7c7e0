import { expect, test } from 'bun:test'
import { openMarkdown } from '../../markdown/renderer.ts'
import { RENDERED_MAX_BYTES, RenderedAnswers } from './rendered-answers.ts'

/** Of two bytes, as most scripts need them. */
const CHARACTER_BYTES = 2

test('cached answers are dropped by all that they take: their text, their HTML, and the event that has it again', async () => {
  const answers = new RenderedAnswers(await openMarkdown())
  const cache = (place: number) =>
    answers.cache(`${place}`, `\`\`\`\n${`${place}\n`.repeat(16_384)}\`\`\``, { state: 'finished' })
  const first = await cache(100)
  expect(await cache(100)).toBe(first)
  const bytes = CHARACTER_BYTES * (first.text.length + 2 * first.newest.html.length)
  for (let place = 101; place < 102 + RENDERED_MAX_BYTES / bytes; place += 1) await cache(place)
  expect(await cache(100)).not.toBe(first)
})
