import { expect, test } from 'bun:test'
import { chatOnEachEngine, nextReqId } from '../../test/harness/chat/turns.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

chatOnEachEngine('the chat page', ({ server, chat, begin }) => {
  test('the chat page opens with two assistant messages, one user message, and a form under a fresh id', async () => {
    const { status, headers, text } = await chat.get('/')
    expect(status).toBe(200)
    expect(headers.get('Content-Type')).toStartWith('text/html')
    expect(text).toStartWith('<!doctype html>')
    expect(text.match(/class="message ai"/g)).toHaveLength(2)
    expect(text.match(/class="message user"/g)).toHaveLength(1)
    expect(text).toMatch(new RegExp(`<form id="composer" action="/chat/${UUID.source}" method="post"`))
    expect(text).toContain('name="user_prompt"')
    expect(text).not.toContain('sse-connect')
    expect(nextReqId((await chat.get('/')).text)).not.toBe(nextReqId(text))
  })

  test('the page after a prompt has the prompt, an empty assistant message, a listener, and a fresh id for the next prompt', async () => {
    const reqId = crypto.randomUUID()
    const { status, page } = await chat.post(reqId, 'What is a spade?')
    expect(status).toBe(200)
    expect(page.match(/class="message /g)).toHaveLength(2)
    expect(page).toContain('<div class="bubble typed">What is a spade?</div>')
    expect(page).toContain('<div id="Response"></div>')
    expect(page).toContain(
      `<div id="chat" hx-ext="sse" sse-connect="/chatstream/${reqId}" sse-swap="Response,ResponseNoMass,Terminate" hx-swap="none">`,
    )
    expect(nextReqId(page)).toMatch(UUID)
    expect(nextReqId(page)).not.toBe(reqId)
  })

  test('the chat page is not cached, sends its address to no other site, and allows no scripts but its own', async () => {
    const { headers } = await chat.get('/')
    expect(headers.get('Cache-Control')).toBe('no-store')
    expect(headers.get('Referrer-Policy')).toBe('same-origin')
    expect(headers.get('Content-Security-Policy')).toContain("default-src 'self'")
    expect(headers.get('Content-Security-Policy')).not.toContain("script-src 'unsafe")
  })

  test('the chat page shows what the user writes as text, whatever it is', async () => {
    const { page } = await chat.post(crypto.randomUUID(), '</div><script>alert(1)</script> & "quoted"\nsecond line')
    expect(page).toContain(
      '<div class="bubble typed">&lt;/div&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;\nsecond line</div>',
    )
  })

  test('the page of a turn can be reopened: with a listener while the answer runs, then with the whole answer and none', async () => {
    const { reqId, listener, call } = await begin('What is a rake?')
    expect((await chat.get(`/chat/${reqId}`)).text).toContain(`sse-connect="/chatstream/${reqId}"`)
    await call.answer('A **rake**.')
    await listener.end()
    const { status, text } = await chat.get(`/chat/${reqId}`)
    expect(status).toBe(200)
    expect(text).toContain('<div class="bubble typed">What is a rake?</div>')
    expect(text).toContain('<div id="Response"><p>A <strong>rake</strong>.</p>&#10;</div>')
    expect(text).not.toContain('sse-connect')
  })

  test('the page of an unknown turn says so and has the form', async () => {
    const { status, text } = await chat.get('/chat/nothing-here')
    expect(status).toBe(404)
    expect(text).toContain('no longer available')
    expect(nextReqId(text)).toMatch(UUID)
  })

  test('without scripts, the page after a prompt waits for the whole answer', async () => {
    const { page } = await chat.post('no-scripts', 'What is a hoe?')
    expect(page).toContain('<noscript><meta http-equiv="refresh" content="0; url=/chat/no-scripts/answer"/></noscript>')
    const waiting = chat.get('/chat/no-scripts/answer')
    await (await server().model.nextCall()).answer('A hoe.')
    const { text } = await waiting
    expect(text).toContain('<div id="Response"><p>A hoe.</p>&#10;</div>')
    expect(text).not.toContain('http-equiv')
  })
})
