import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ChatClient, Listener } from '../../test/harness/chat/chat-client.ts'
import { type ChatServer, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { listenOnSocket } from '../../test/harness/chat/socket-listener.ts'
import { withEachEngine } from '../../test/harness/contract.ts'
import type { ModelCall, ModelServer } from '../../test/harness/peers/model-server.ts'
import { run } from '../../test/harness/service.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
const TERMINATE = 'event: Terminate\ndata: <div id="chat" hx-swap-oob="true"></div>\n\n'
const PROMPT_MAX_CHARACTERS = 32_768

let server: ChatServer
let chat: ChatClient
let model: ModelServer

withEachEngine('the chat', engine => {
  beforeAll(async () => {
    server = await startChatServer(engine, { environment: { STREAMS_PER_ADDRESS: '2000' } })
    chat = server.chat
    model = server.model
  })
  afterAll(() => server[Symbol.asyncDispose]())

  describe('the page', () => {
    test('opens with two messages of the assistant and one of the user, and a form under a fresh id', async () => {
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

    test('that a prompt gets has it, an empty message of the assistant, a listener, and another id for the next', async () => {
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

    test('is not kept by a cache, names no address to other sites, and allows no script but its own', async () => {
      const { headers } = await chat.get('/')
      expect(headers.get('Cache-Control')).toBe('no-store')
      expect(headers.get('Referrer-Policy')).toBe('same-origin')
      expect(headers.get('Content-Security-Policy')).toContain("default-src 'self'")
      expect(headers.get('Content-Security-Policy')).not.toContain("script-src 'unsafe")
    })

    test('shows what the user writes as text, whatever it is', async () => {
      const { page } = await chat.post(crypto.randomUUID(), '</div><script>alert(1)</script> & "quoted"\nsecond line')
      expect(page).toContain(
        '<div class="bubble typed">&lt;/div&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;\nsecond line</div>',
      )
    })

    test('of a turn can be opened again: with a listener while it runs, then with the whole answer and none', async () => {
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

    test('of a turn that is not there says so, with the form', async () => {
      const { status, text } = await chat.get('/chat/nothing-here')
      expect(status).toBe(404)
      expect(text).toContain('no longer kept')
      expect(nextReqId(text)).toMatch(UUID)
    })

    test('waits for the answer where a browser runs no scripts', async () => {
      const { page } = await chat.post('no-scripts', 'What is a hoe?')
      expect(page).toContain(
        '<noscript><meta http-equiv="refresh" content="0; url=/chat/no-scripts/answer"/></noscript>',
      )
      const waiting = chat.get('/chat/no-scripts/answer')
      await (await model.nextCall()).answer('A hoe.')
      const { text } = await waiting
      expect(text).toContain('<div id="Response"><p>A hoe.</p>&#10;</div>')
      expect(text).not.toContain('http-equiv')
    })
  })

  describe('a prompt', () => {
    test('that is none is refused with a page that says so and has the form', async () => {
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

    test('is at most 32,768 characters long, in code points; a longer one is refused and stays in the form', async () => {
      expect((await chat.post('long', '🌱'.repeat(PROMPT_MAX_CHARACTERS))).status).toBe(200)
      const { status, page } = await chat.post('too-long', `${'🌱'.repeat(PROMPT_MAX_CHARACTERS)}!`)
      expect(status).toBe(422)
      expect(page).toContain('32,769 characters')
      expect(page).toContain('🌱!</textarea>')
      expect((await chat.get('/chatstream/too-long')).status).toBe(404)
    })

    test('keeps the line breaks that were typed', async () => {
      const { call } = await begin('one\r\ntwo\nthree')
      expect(call.prompt).toBe('one\ntwo\nthree')
      await call.finish()
    })

    test('larger than the form may be is refused with 413', async () => {
      const body = new URLSearchParams({ user_prompt: 'x'.repeat(1_048_577) })
      const { status, text } = await chat.get('/chat/large', { method: 'POST', body })
      expect(status).toBe(413)
      expect(JSON.parse(text)).toEqual({ detail: expect.any(String) })
    })

    test('is taken under any id of up to 128 characters', async () => {
      for (const reqId of ['x', 'ä/ö?#&<b>"\'', 'y'.repeat(128)]) {
        const { call, listener } = await begin('What is a fork?', reqId)
        await call.answer('A fork.')
        expect(await listener.end()).toEndWith(TERMINATE)
      }
      expect((await chat.post('z'.repeat(129), 'What is a fork?')).status).toBe(422)
    })

    test('posted again before its answer began takes the place of the first', async () => {
      await chat.post('changed', 'first')
      expect((await chat.post('changed', 'second')).page).toContain('>second</div>')
      const { call } = await listen('changed')
      expect(call.prompt).toBe('second')
      await call.finish()
    })

    test('posted again once its answer has begun changes nothing and shows the same page', async () => {
      const { reqId, listener, call } = await begin('the first')
      const { status, page } = await chat.post(reqId, 'another')
      expect(status).toBe(200)
      expect(page).toContain('>the first</div>')
      expect(page).toContain(`sse-connect="/chatstream/${reqId}"`)
      await call.answer('an answer')
      expect(await listener.end()).toContain('<p>an answer</p>')
      expect(callsFor('another')).toHaveLength(0)
    })

    test('posted again once its answer has ended shows the answer in the page itself, which need not connect', async () => {
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

  describe('the stream', () => {
    test('is, byte by byte, a Response for each piece with the whole text so far, then Terminate', async () => {
      const { listener, call } = await begin('bytes')
      expect(call.system).toBe('Answer in markdown only.')
      expect(call.prompt).toBe('bytes')
      expect(call.body).toMatchObject({ stream: true })
      await call.sendAtOnce(['# Spa', 'des\n\nDig **we', 'll**.'])
      await call.finish()
      expect(withoutComments(await listener.end())).toBe(
        [
          'event: Response\ndata: <div id="Response" hx-swap-oob="true"><h1>Spa</h1>&#10;</div>\n\n',
          'event: Response\ndata: <div id="Response" hx-swap-oob="true"><h1>Spades</h1>&#10;<p>Dig **we</p>&#10;</div>\n\n',
          'event: Response\ndata: <div id="Response" hx-swap-oob="true"><h1>Spades</h1>&#10;<p>Dig <strong>well</strong>.</p>&#10;</div>\n\n',
          'event: Terminate\ndata: <div id="chat" hx-swap-oob="true"></div>\n\n',
        ].join(''),
      )
      const { status, headers } = await listener.head
      expect(status).toBe(200)
      expect(headers.get('Content-Type')).toBe('text/event-stream')
      expect(headers.get('Cache-Control')).toBe('no-cache')
      expect(headers.get('X-Accel-Buffering')).toBe('no')
    })

    test('brings an event before the model writes the next piece', async () => {
      const { listener, call } = await begin('one by one')
      for (const piece of ['one ', 'two ', 'three']) {
        await call.send(piece)
        expect((await listener.next()).chunk).toContain(piece.trim())
      }
      await call.finish()
    })

    test('keeps an event on three lines, whatever line breaks the model writes', async () => {
      const { listener, call } = await begin('line breaks')
      await call.answer('```\none\r\ntwo\rthree\n```\n\nevent: Terminate\ndata: <div id="chat"></div>\n\n')
      const events = await listener.events()
      expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
      expect(events[0]?.chunk).toContain('one&#10;two&#10;three&#10;')
      expect(events[0]?.chunk).toContain('&lt;div id=&quot;chat&quot;&gt;')
    })

    test('shows what a database cannot store as the sign for it, and keeps characters whole that come in halves', async () => {
      const { reqId, listener, call } = await begin('odd characters')
      await call.send('a\0b \ud83c')
      await listener.until('a\ufffdb')
      while ((await chat.status(reqId)) !== '{"status":"running"}') await Bun.sleep(10)
      await call.answer('\udf31 c \ud83c d')
      expect(await listener.end()).toContain('<p>a\ufffdb 🌱 c \ufffd d</p>')
      expect((await chat.get(`/chat/${reqId}`)).text).toContain('<p>a\ufffdb 🌱 c \ufffd d</p>')
    })

    test('highlights code with styles of its own', async () => {
      const { listener, call } = await begin('code')
      await call.answer('```ts\nconst spade = 1\n```\n')
      expect(await listener.end()).toMatch(/<span style="color:[^"]+">const<\/span>/)
    })

    test('of an id under which nothing was posted is 404', async () => {
      const { status, text } = await chat.get('/chatstream/unknown')
      expect(status).toBe(404)
      expect(text).toBe('{"detail":"Prompt not found"}')
      for (const reqId of ['x'.repeat(5_000), 'a%00b', '%C3%28']) {
        expect((await chat.get(`/chatstream/${reqId}`)).status, reqId).toBe(404)
        expect((await chat.get(`/chat/${reqId}`)).status, reqId).toBe(404)
        expect((await chat.get(`/chat/${reqId}/status`)).status, reqId).toBe(404)
        expect((await chat.get(`/chat/${reqId}/stop`, { method: 'POST' })).status, reqId).toBe(404)
      }
    })

    test('of a model that refuses says so in a last Response, then Terminate; the model is not asked again', async () => {
      const { reqId, listener, call } = await begin('refused')
      await call.refuse(401)
      const events = await listener.events()
      expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
      expect(events[0]?.chunk).toContain('<p class="note failure">')
      expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(withoutComments(listener.wire()))
      expect(callsFor('refused')).toHaveLength(1)
      expect(listener.wire()).not.toContain('chat-credential')
      expect(server.service.errors()).not.toContain('chat-credential')
    })

    test('of a model that fails amid its answer keeps what came, says so, and ends with Terminate', async () => {
      const { listener, call } = await begin('failing')
      await call.send('The beginning')
      await listener.until('The beginning')
      call.cut()
      const { chunk } = await listener.until('note failure')
      expect(chunk).toContain('<p>The beginning</p>')
      expect(await listener.end()).toEndWith(TERMINATE)
      expect(callsFor('failing')).toHaveLength(1)
    })

    test('of a model that says nothing says so', async () => {
      const { listener, call } = await begin('silent')
      await call.finish()
      const events = await listener.events()
      expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
      expect(events[0]?.chunk).toContain('<p class="note failure">')
    })
  })

  describe('an answer', () => {
    test('that is running is joined with all text so far, and the model is asked once', async () => {
      const { reqId, listener, call } = await begin('joined')
      await call.send('one ')
      await call.send('two ')
      await listener.until('two')
      const joined = chat.listen(reqId)
      expect((await joined.next()).chunk).toContain('<p>one two</p>')
      await call.send('three')
      await joined.until('one two three')
      await call.finish()
      expect(await joined.end()).toEndWith(TERMINATE)
      expect(await listener.end()).toEndWith(TERMINATE)
      expect(callsFor('joined')).toHaveLength(1)
    })

    test('that has ended is had at once and whole, and the model is not asked again', async () => {
      const { reqId, listener, call } = await begin('ended')
      await call.answer('one ', 'two')
      await listener.end()
      expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(
        `event: Response\ndata: <div id="Response" hx-swap-oob="true"><p>one two</p>&#10;</div>\n\n${TERMINATE}`,
      )
      expect(callsFor('ended')).toHaveLength(1)
    })

    test('goes on when all who listened have left, and is whole when one comes back', async () => {
      const { reqId, listener, call } = await begin('left')
      await call.send('one ')
      await listener.until('one')
      listener.leave()
      await listener.end()
      await call.send('two ')
      const back = chat.listen(reqId)
      await back.until('one two')
      await call.send('three')
      await call.finish()
      expect(await back.end()).toContain('<p>one two three</p>')
      expect(callsFor('left')).toHaveLength(1)
    })

    test('that is stopped closes the connection to the model, keeps what came, and stays so', async () => {
      const { reqId, listener, call } = await begin('stopped')
      await call.send('The beginning')
      await listener.until('The beginning')
      expect(await chat.stop(reqId)).toBe(204)
      await call.closed
      const last = (await listener.events()).at(-2)
      expect(last?.chunk).toContain('<p>The beginning</p>&#10;<p class="note">The answer was stopped.</p>')
      expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(
        `event: Response\ndata: ${last?.chunk}\n\n${TERMINATE}`,
      )
      expect(await chat.stop(reqId)).toBe(204)
      expect(callsFor('stopped')).toHaveLength(1)
    })

    test('that is stopped before it began never asks the model', async () => {
      await chat.post('stopped-early', 'never asked')
      expect(await chat.stop('stopped-early')).toBe(204)
      const { text } = await chat.get('/chatstream/stopped-early')
      expect(text).toContain('The answer was stopped.')
      expect(text).toEndWith(TERMINATE)
      expect(callsFor('never asked')).toHaveLength(0)
    })

    test('to nothing cannot be stopped', async () => {
      expect(await chat.stop('unknown')).toBe(404)
      expect((await chat.get('/chat/unknown/status')).status).toBe(404)
    })

    test('reaches a thousand listeners to its end, from one call', async () => {
      const { reqId, listener, call } = await begin('a thousand')
      const listeners = Array.from({ length: 1_000 }, () => listenOnSocket(chat.address, reqId))
      await call.send('Hello ')
      await Promise.all(listeners.map(each => each.until('Hello')))
      await call.answer('to ', 'all')
      await Promise.all(listeners.map(each => each.until(TERMINATE)))
      for (const each of listeners) expect(each.read()).toContain('<p>Hello to all</p>')
      for (const each of listeners) each.leave()
      await listener.end()
      expect(callsFor('a thousand')).toHaveLength(1)
    }, 30_000)

    test('leaves out for a slow reader what a newer event has replaced, and never the last one', async () => {
      const pieces = 2_000
      const { reqId, listener, call } = await begin('slow reader')
      const slow = listenOnSocket(chat.address, reqId)
      await call.send('The beginning\n\n')
      await slow.until('The beginning')
      slow.stopReading()
      await call.sendAtOnce(Array.from({ length: pieces }, (_, index) => `line ${index} of the answer\n\n`))
      await call.finish()
      await listener.end()
      slow.goOnReading()
      await slow.until(TERMINATE)
      expect(slow.read()).toContain(`line ${pieces - 1} of the answer`)
      expect(slow.read().split('event: Response').length).toBeLessThan(pieces / 2)
      slow.leave()
    }, 30_000)
  })

  describe('the server', () => {
    test('tells where an answer is', async () => {
      await chat.post('status', 'where is it')
      expect(await chat.status('status')).toBe('{"status":"new"}')
      const { listener, call } = await listen('status')
      await call.send('here')
      await listener.until('here')
      while ((await chat.status('status')) !== '{"status":"running"}') await Bun.sleep(10)
      await call.finish()
      await listener.end()
      while ((await chat.status('status')) !== '{"status":"ended"}') await Bun.sleep(10)
    })

    test('takes a link from a page of another origin, but no prompt, no stop, and nothing that begins an answer', async () => {
      const body = new URLSearchParams({ user_prompt: 'not for them' })
      const own = { Origin: chat.address, Referer: `${chat.address}/`, 'Sec-Fetch-Site': 'same-origin' }
      const foreign: Record<string, string>[] = [
        { 'Sec-Fetch-Site': 'cross-site' },
        { 'Sec-Fetch-Site': 'same-site' },
        { Origin: 'https://evil.example' },
        { Origin: 'null' },
        { Referer: 'https://evil.example/' },
      ]
      await chat.post('cross-site', 'for us')
      for (const [place, headers] of foreign.entries()) {
        const name = JSON.stringify(headers)
        expect((await chat.get(`/chat/theirs-${place}`, { headers, method: 'POST', body })).status, name).toBe(403)
        expect((await chat.get(`/chatstream/theirs-${place}`)).status, name).toBe(404)
        expect((await chat.get('/chat/cross-site/stop', { headers, method: 'POST' })).status, name).toBe(403)
        expect((await chat.get('/chatstream/cross-site', { headers })).status, name).toBe(403)
        expect((await chat.get('/chat/cross-site/answer', { headers })).status, name).toBe(403)
        expect((await chat.get('/chat/cross-site', { headers })).status, name).toBe(200)
      }
      expect(await chat.status('cross-site')).toBe('{"status":"new"}')
      expect((await chat.get('/chat/ours', { headers: own, method: 'POST', body })).status).toBe(200)
      expect((await chat.get('/chat/ours/stop', { headers: own, method: 'POST' })).status).toBe(204)
    })

    test('begins nothing for HEAD, and says what GET would', async () => {
      await chat.post('headers-alone', 'headers alone')
      const stream = await chat.get('/chatstream/headers-alone', { method: 'HEAD' })
      expect(stream).toMatchObject({ status: 200, text: '' })
      expect(stream.headers.get('Content-Type')).toBe('text/event-stream')
      expect(await chat.get('/chat/headers-alone/answer', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' })
      expect(await chat.status('headers-alone')).toBe('{"status":"new"}')
      for (const path of ['/chatstream/nothing', '/chat/nothing/answer']) {
        expect((await chat.get(path, { method: 'HEAD' })).status, path).toBe(404)
      }
    })

    test('is alive and ready, and knows no other path and no other method', async () => {
      expect((await chat.get('/healthz')).text).toBe('{"status":"ok"}')
      expect((await chat.get('/readyz')).text).toBe('{"status":"ready"}')
      expect((await chat.get('/nowhere')).text).toBe('{"detail":"Not Found"}')
      const { status, headers, text } = await chat.get('/chatstream/x', { method: 'DELETE' })
      expect(status).toBe(405)
      expect(headers.get('Allow')).toBe('GET, HEAD')
      expect(text).toBe('{"detail":"Method Not Allowed"}')
    })

    test('serves what its pages need, under /static', async () => {
      const { text } = await chat.get('/')
      const paths = [...text.matchAll(/(?:src|href)="(\/static\/[^"]+)"/g)].map(([, path]) => path ?? '')
      expect(paths).toContainEqual(expect.stringContaining('/static/chat.js'))
      for (const path of paths) expect((await chat.get(path)).status, path).toBe(200)
    })

    test('is stopped at once by a wrong setting, with one line and exit status 2', async () => {
      const { status, errors } = await run(['chat'], { environment: { CHAT_MODEL: 'nobody:knows' } })
      expect(status).toBe(2)
      expect(errors).toMatch(/^stockroom: CHAT_MODEL: .*\n$/)
    })
  })
})

interface Begun {
  readonly reqId: string
  readonly listener: Listener
  readonly call: ModelCall
}

/** Posts a prompt and listens; the answer is in the test's hands. */
async function begin(prompt: string, reqId: string = crypto.randomUUID()): Promise<Begun> {
  await chat.post(reqId, prompt)
  return listen(reqId)
}

async function listen(reqId: string): Promise<Begun> {
  const listener = chat.listen(reqId)
  return { reqId, listener, call: await model.nextCall() }
}

function callsFor(prompt: string): ModelCall[] {
  return model.calls.filter(call => call.prompt === prompt)
}

/** The id under which the page's form sends the next prompt. */
function nextReqId(page: string): string {
  return /action="\/chat\/([^"/]+)" method="post"/.exec(page)?.[1] ?? ''
}

function withoutComments(wire: string): string {
  return wire.replaceAll(':\n\n', '')
}

function fileForm(): FormData {
  const form = new FormData()
  form.set('user_prompt', new File(['text'], 'prompt.txt'))
  return form
}
