import { describe, expect, test } from 'bun:test'
import { manualClock } from '../../test/harness/manual-clock.ts'
import { ask, openModel } from '../../test/harness/model-client.ts'

describe('the demo model', () => {
  test('the demo model says that it is one, with a list, a table, and the code that plugs in a real one', async () => {
    const { text, failure } = await demoAnswer('Hello')
    expect(failure).toBeNull()
    expect(text).toContain('This is the demo model')
    expect(text).toContain('not a language model')
    expect(text).toMatch(/^- /m)
    expect(text).toMatch(/^\| --- \|/m)
    expect(text).toMatch(
      /^```bash\n.*CHAT_MODEL=openai:.*OPENAI_API_KEY=.*CHAT_MODEL=compatible:.*CHAT_BASE_URL=.*^```$/ms,
    )
  })

  test('the demo model writes word by word, 20 ms apart', async () => {
    const clock = manualClock()
    const answer = ask(await openModel({}, clock))
    for (const word of ['# ', 'This ', 'is ', 'the ', 'demo ', 'model\n\n']) {
      await clock.waitedFor(20)
      clock.advance(20)
      expect(await answer.piece()).toBe(word)
    }
    answer.stop()
    expect((await answer.end()).failure).toBeNull()
  })

  test('the demo model gives the same answer to every prompt', async () => {
    const { text } = await demoAnswer('Hello')
    expect((await demoAnswer('Show me a table')).text).toBe(text)
  })

  test('the demo model repeats nothing of the prompt', async () => {
    const { text } = await demoAnswer('<script>alert("xyzzy")</script> in a table')
    expect(text).not.toContain('xyzzy')
    expect(text).not.toContain('<script')
  })
})

async function demoAnswer(prompt: string) {
  return await ask(await openModel({}), { prompt }).end()
}
