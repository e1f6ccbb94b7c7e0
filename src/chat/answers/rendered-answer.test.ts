import { expect, test } from 'bun:test'
import { setImmediate as turn } from 'node:timers/promises'
import { type ManualClock, manualClock } from '../../../test/harness/manual-clock.ts'
import { openMarkdown } from '../../markdown/renderer.ts'
import { Pace } from './pace.ts'
import { RenderedAnswer } from './rendered-answer.ts'
import { RenderedAnswers } from './rendered-answers.ts'

/** A renderer that takes so many milliseconds, and shows the text as it is. */
function slowStream(clock: ManualClock, milliseconds: number) {
  let text = ''
  return {
    append(piece: string): void {
      text += piece
    },
    html(): string {
      clock.advance(milliseconds)
      return text
    },
  }
}

/** Collects what a listener gets, and after how long each character is in it. */
async function listen(clock: ManualClock, answer: RenderedAnswer, sentAt: readonly number[]) {
  const renderings: string[] = []
  let behindMs = 0
  for await (const { html } of answer.listen(new AbortController().signal)) {
    const first = renderings.at(-1)?.length ?? 0
    if (html.length > first) behindMs = Math.max(behindMs, clock.now() - (sentAt[first] ?? Number.NaN))
    renderings.push(html)
  }
  return { renderings, behindMs }
}

const NOTHING = { renderings: [], behindMs: Number.NaN }

/** Sends pieces to several answers at the same moments. */
async function send(clock: ManualClock, answers: readonly RenderedAnswer[], pieces: number, periodMs: number) {
  const sentAt: number[] = []
  const listening = answers.map(answer => listen(clock, answer, sentAt))
  for (let piece = 0; piece < pieces; piece += 1) {
    sentAt.push(clock.now())
    for (const answer of answers) await answer.append('x')
    clock.advance(periodMs)
    await turn()
  }
  for (const answer of answers) answer.end({ state: 'finished' })
  return Promise.all(listening)
}

test('each piece gets its own rendering while rendering is quick, even if hundreds come at once', async () => {
  const clock = manualClock()
  const answer = new RenderedAnswer(slowStream(clock, 0), new Pace(clock))
  const [only] = await send(clock, [answer], 200, 0)
  expect(only?.renderings).toEqual(Array.from({ length: 200 }, (_, index) => 'x'.repeat(index + 1)))
})

test('each piece gets its own rendering, even if many come at once for each of many answers', async () => {
  const clock = manualClock()
  const pace = new Pace(clock)
  const answers = Array.from({ length: 16 }, () => new RenderedAnswer(slowStream(clock, 0.5), pace))
  for (const { renderings } of await send(clock, answers, 25, 0)) {
    expect(renderings).toEqual(Array.from({ length: 25 }, (_, index) => 'x'.repeat(index + 1)))
  }
})

test('pieces are merged when rendering takes most of the time, a listener is never far behind, and the last is whole', async () => {
  const clock = manualClock()
  const answer = new RenderedAnswer(slowStream(clock, 12), new Pace(clock))
  const [{ renderings, behindMs } = NOTHING] = await send(clock, [answer], 200, 5)
  // Time for one in two and a half, and the time that was saved up before.
  expect(renderings.length).toBeLessThan(120)
  expect(renderings.length).toBeGreaterThan(4)
  expect(behindMs).toBeLessThan(130)
  expect(renderings.at(-1)).toBe('x'.repeat(200))
})

test('several answers share the time for rendering', async () => {
  const clock = manualClock()
  const pace = new Pace(clock)
  const answers = Array.from({ length: 4 }, () => new RenderedAnswer(slowStream(clock, 6), pace))
  const results = await send(clock, answers, 100, 5)
  const count = results.map(({ renderings }) => renderings.length).reduce((one, other) => one + other)
  expect(count).toBeLessThan(250)
  for (const { renderings } of results) expect(renderings.at(-1)).toBe('x'.repeat(100))
})

test('pieces that would wait are shown at once when together they are as long as a step', async () => {
  const pace = new Pace(manualClock())
  pace.spend(10_000)
  const answer = new RenderedAnswer(slowStream(manualClock(), 0), pace)
  const shown: number[] = []
  for (let piece = 0; piece < 3; piece += 1) {
    await answer.append('x'.repeat(1_000))
    shown.push(answer.newest.html.length)
  }
  expect(shown).toEqual([0, 0, 3_000])
})

test('one rendering that takes very long holds up the next pieces for a tenth of a second at most', () => {
  const clock = manualClock()
  const pace = new Pace(clock)
  pace.spend(10_000)
  expect(pace.waitMs).toBe(100)
  clock.advance(100)
  expect(pace.waitMs).toBe(0)
})

test('answers whose renderings take long are rendered one in each turn of the event loop', async () => {
  const clock = manualClock()
  const pace = new Pace(clock)
  const turns: number[] = []
  let now = 0
  const answers = Array.from({ length: 3 }, () => {
    const slow = slowStream(clock, 2)
    const html = () => {
      turns.push(now)
      return slow.html()
    }
    return new RenderedAnswer({ append: slow.append, html }, pace)
  })
  for (const answer of answers) await answer.append('a')
  turns.length = 0
  for (const answer of answers) void answer.append('b')
  for (; turns.length < answers.length; now += 1) await turn()
  expect(new Set(turns).size).toBe(answers.length)
})

test('a long text is taken in steps, other work runs in between, and only the whole is shown', async () => {
  const clock = manualClock()
  const answer = new RenderedAnswer(slowStream(clock, 1), new Pace(clock))
  const listening = listen(clock, answer, [])
  let turns = 0
  let isDone = false
  const appended = answer.append('y'.repeat(20_000)).then(() => {
    isDone = true
  })
  while (!isDone) {
    await turn()
    turns += 1
  }
  await appended
  answer.end({ state: 'finished' })
  expect(turns).toBeGreaterThan(5)
  expect((await listening).renderings).toEqual(['y'.repeat(20_000)])
})

test('a long text whose characters take long to render is taken in shorter steps', async () => {
  const clock = manualClock()
  const steps: number[] = []
  let characters = 0
  const stream = {
    append: (piece: string) => {
      characters += piece.length
    },
    html: () => {
      clock.advance(0.3 * characters)
      steps.push(characters)
      characters = 0
      return ''
    },
  }
  await new RenderedAnswer(stream, new Pace(clock)).append('y'.repeat(20_000))
  expect(Math.max(...steps.slice(1))).toBeLessThanOrEqual(512)
})

test('the steps of several long texts have a turn of their own each', async () => {
  const clock = manualClock()
  const pace = new Pace(clock)
  let steps = 0
  const stream = {
    append: () => {},
    html: () => {
      clock.advance(1)
      steps += 1
      return ''
    },
  }
  const appended = Array.from({ length: 10 }, () => new RenderedAnswer(stream, pace).append('y'.repeat(20_000)))
  let isDone = false
  const all = Promise.all(appended).then(() => {
    isDone = true
  })
  let most = 0
  while (!isDone) {
    steps = 0
    await turn()
    most = Math.max(most, steps)
  }
  await all
  expect(most).toBeLessThanOrEqual(2)
})

test('an answer that ends while a long text is taken in steps is shown whole', async () => {
  const clock = manualClock()
  const answer = new RenderedAnswer(slowStream(clock, 1), new Pace(clock))
  const appended = answer.append('z'.repeat(20_000))
  answer.end({ state: 'stopped' })
  await appended
  expect(answer.newest).toEqual({ html: 'z'.repeat(20_000), ending: { state: 'stopped' } })
})

test('a rendering that fails later on fails the next piece', async () => {
  let isBroken = false
  const clock = manualClock()
  const slow = slowStream(clock, 300)
  const stream = {
    append: slow.append,
    html: () => {
      if (isBroken) throw new Error('broken')
      return slow.html()
    },
  }
  const answer = new RenderedAnswer(stream, new Pace(clock))
  await answer.append('a')
  isBroken = true
  await answer.append('b')
  clock.advance(150)
  await turn()
  await turn()
  await expect(answer.append('c')).rejects.toThrow('cannot be rendered')
  answer.end({ state: 'failed', reason: 'no' })
  expect(answer.newest).toEqual({ html: 'a', ending: { state: 'failed', reason: 'no' } })
})

test('an answer that has ended is rendered once for all who ask at the same moment', async () => {
  const markdown = await openMarkdown()
  let renderings = 0
  const counted = new RenderedAnswers({
    stream: () => {
      renderings += 1
      return markdown.stream()
    },
  })
  const asked = Array.from({ length: 3 }, () => counted.cache('asked', '*Once*', { state: 'finished' }))
  for (const { newest } of await Promise.all(asked)) expect(newest.html).toContain('<em>Once</em>')
  expect(renderings).toBe(1)
})
