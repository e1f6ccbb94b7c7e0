import { expect, test } from 'bun:test'
import { chatOnEachEngine, nextReqId, TERMINATE } from '../../../test/harness/chat/turns.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
const PROMPT_MAX_CHARACTERS = 32_768

chatOnEachEngine('prompts', ({ chat, begin, callsFor, listen }) => {
  test('a blank prompt is refused with a page that says so and has the form', async () => {
    const bodies = {
      'another field': new URLSearchParams({ other: 'text' }),
      nothing: null,
      'an empty field': new URLSearchParams({ user_prompt: '' }),
      'blanks alone': new URLSearchParams({ user_prompt: ' \r\n\t ' }),
      JSON: '{"user_prompt": "hello"}',
      'a file': fileForm(),
    }
    for (const [name, body] of Object.entries(bodies)) {
      const { status, text } = await chat.get('/chat/refused', { method: 'POST', body })
      expect(status, name).toBe(422)
      expect(text, name).toContain('Write something first.')
      expect(nextReqId(text), name).toMatch(UUID)
    }
    expect((await chat.get('/chatstream/refused')).status).toBe(404)
  })

  test('a prompt has at most 32,768 code points; a longer one is refused and stays in the form', async () => {
    expect((await chat.post('long', '🌱'.repeat(PROMPT_MAX_CHARACTERS))).status).toBe(200)
    const { status, page } = await chat.post('too-long', `${'🌱'.repeat(PROMPT_MAX_CHARACTERS)}!`)
    expect(status).toBe(422)
    expect(page).toContain('32,769 characters')
    expect(page).toContain('🌱!</textarea>')
    expect((await chat.get('/chatstream/too-long')).status).toBe(404)
  })

  test('a prompt keeps its line breaks', async () => {
    const { call } = await begin('one\r\ntwo\nthree')
    expect(call.prompt).toBe('one\ntwo\nthree')
    await call.finish()
  })

  test('a prompt larger than the form allows is refused with 413', async () => {
    const body = new URLSearchParams({ user_prompt: 'x'.repeat(1_048_577) })
    const { status, text } = await chat.get('/chat/large', { method: 'POST', body })
    expect(status).toBe(413)
    expect(JSON.parse(text)).toEqual({ detail: expect.any(String) })
  })

  test('a prompt is accepted under any id of up to 128 characters', async () => {
    for (const reqId of ['x', 'ä/ö?#&<b>"\'', 'y'.repeat(128), '🌱'.repeat(128)]) {
      const { call, listener } = await begin('What is a fork?', reqId)
      await call.answer('A fork.')
      expect(await listener.end()).toEndWith(TERMINATE)
    }
    for (const reqId of ['z'.repeat(129), '🌱'.repeat(129)]) {
      expect((await chat.post(reqId, 'What is a fork?')).status).toBe(422)
    }
  })

  test('a prompt posted again before its answer begins replaces the first', async () => {
    await chat.post('changed', 'first')
    expect((await chat.post('changed', 'second')).page).toContain('>second</div>')
    const { call } = await listen('changed')
    expect(call.prompt).toBe('second')
    await call.finish()
  })

  test('a prompt posted again once its answer has begun changes nothing and shows the same page', async () => {
    const { reqId, listener, call } = await begin('the first')
    const { status, page } = await chat.post(reqId, 'another')
    expect(status).toBe(200)
    expect(page).toContain('>the first</div>')
    expect(page).toContain(`sse-connect="/chatstream/${reqId}"`)
    await call.answer('an answer')
    expect(await listener.end()).toContain('<p>an answer</p>')
    expect(callsFor('another')).toHaveLength(0)
  })

  test('a prompt posted again once its answer has ended shows the answer in the page itself, without a stream', async () => {
    const { reqId, listener, call } = await begin('What is a trowel?')
    await call.answer('A **trowel**.')
    await listener.end()
    const { status, page } = await chat.post(reqId, 'another')
    expect(status).toBe(200)
    expect(page).toContain('>What is a trowel?</div>')
    expect(page).toContain('<div id="Response"><p>A <strong>trowel</strong>.</p>&#10;</div>')
    expect(page).not.toContain('sse-connect')
    expect(page).not.toContain('http-equiv')
    expect(callsFor('another')).toHaveLength(0)
    await chat.post('never-begun', 'Never mind.')
    await chat.stop('never-begun')
    const stopped = (await chat.post('never-begun', 'again')).page
    expect(stopped).toContain('The answer was stopped.')
    expect(stopped).not.toContain('sse-connect')
  })
})

function fileForm(): FormData {
  const form = new FormData()
  form.set('user_prompt', new File(['text'], 'prompt.txt'))
  return form
}
