import { expect, test } from 'bun:test'
import { chatOnEachEngine, TERMINATE } from '../../test/harness/chat/turns.ts'
import { until } from '../../test/harness/until.ts'

const PIECES = ['# Spa', 'des\n\nDig **we', 'll**.']

chatOnEachEngine('the stream', ({ server, chat, begin, callsFor }) => {
  test('the stream is, byte by byte, one Response per piece with the whole text so far, then Terminate', async () => {
    const { listener, call } = await begin('bytes')
    expect(call.system).toBe('Answer in markdown only.')
    expect(call.prompt).toBe('bytes')
    expect(call.body).toMatchObject({ stream: true })
    for (const piece of PIECES) {
      await call.send(piece)
      await listener.next()
    }
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

  test('pieces that arrive at once have an event each', async () => {
    let most = 0
    // On a loaded machine, rendering may take too long, and pieces are merged.
    for (let trial = 0; trial < 10 && most < PIECES.length; trial += 1) {
      const { listener, call } = await begin(`at once, trial ${trial}`)
      await call.sendAtOnce(PIECES)
      await call.finish()
      const events = await listener.events()
      most = Math.max(most, events.filter(({ name }) => name === 'Response').length)
    }
    expect(most).toBe(PIECES.length)
  })

  test('the stream sends an event before the model writes the next piece', async () => {
    const { listener, call } = await begin('one by one')
    for (const piece of ['one ', 'two ', 'three']) {
      await call.send(piece)
      expect((await listener.next()).chunk).toContain(piece.trim())
    }
    await call.finish()
  })

  test('the stream keeps an event on three lines, whatever line breaks the model writes', async () => {
    const { listener, call } = await begin('line breaks')
    await call.answer('```\none\r\ntwo\rthree\n```\n\nevent: Terminate\ndata: <div id="chat"></div>\n\n')
    const events = await listener.events()
    expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
    expect(events[0]?.chunk).toContain('one&#10;two&#10;three&#10;')
    expect(events[0]?.chunk).toContain('&lt;div id=&quot;chat&quot;&gt;')
  })

  test('the stream replaces what a database cannot store, and joins characters that arrive in halves', async () => {
    const { reqId, listener, call } = await begin('odd characters')
    await call.send('a\0b \ud83c')
    await listener.until('a\ufffdb')
    await until(async () => (await chat.status(reqId)) === '{"status":"running"}')
    await call.answer('\udf31 c \ud83c d')
    expect(await listener.end()).toContain('<p>a\ufffdb 🌱 c \ufffd d</p>')
    expect((await chat.get(`/chat/${reqId}`)).text).toContain('<p>a\ufffdb 🌱 c \ufffd d</p>')
  })

  test('the stream highlights code with styles of its own', async () => {
    const { listener, call } = await begin('code')
    await call.answer('```ts\nconst spade = 1\n```\n')
    expect(await listener.end()).toMatch(/<span style="color:[^"]+">const<\/span>/)
  })

  test('the stream is not held up by code that could be read in many ways', async () => {
    const { listener, call } = await begin('code that could be read in many ways')
    // To try them all, the server would need a quarter of a second for each line.
    const types = `void ${'*'.repeat(40)}\n`.repeat(100)
    const typeArguments = `${'a <'.repeat(20)}\n`.repeat(100)
    await call.answer(`\`\`\`cpp\n${types}\`\`\`\n\`\`\`cs\n${typeArguments}\`\`\`\n`)
    const { chunk = '' } = (await listener.events()).findLast(({ name }) => name === 'Response') ?? {}
    expect(chunk.split('>void</span>').length - 1).toBe(100)
    expect(chunk.split('>&lt;</span>').length - 1).toBe(2_000)
  }, 20_000)

  // Of each of these lines, the grammar as it comes takes a tenth of a second to two seconds.
  for (const [language, lines] of [
    ['cpp', `struct A::a${`<'\\''`.repeat(55)}>\n`.repeat(150)],
    ['java', `var _${'\t'.repeat(120)}var ${'\t'.repeat(120)}\n`.repeat(30)],
    ['cs', `class A { a[]${'\t'.repeat(280)}>\n`.repeat(30)],
    ['css', `a:lang(b${'\\a'.repeat(40)}!\n`.repeat(200)],
    ['go', `a struct{${'a'.repeat(60)}"}\n`.repeat(200)],
  ] as const) {
    test(`the stream is not held up by lines in ${language} that could be read in many ways`, async () => {
      const { listener, call } = await begin(`lines in ${language}`)
      await call.answer(`\`\`\`${language}\n${lines}\`\`\`\n*The end*`)
      const { chunk = '' } = (await listener.events()).findLast(({ name }) => name === 'Response') ?? {}
      expect(chunk).toContain('<em>The end</em>')
    }, 10_000)
  }

  test('the stream is not held up by HTML with many brackets that begin no tag', async () => {
    const { listener, call } = await begin('brackets that begin no tag')
    // To look for a tag after each of them, the server would need more than ten seconds.
    await call.answer(`\`\`\`html\n${`${'<'.repeat(300)}\n`.repeat(200)}<b>\n\`\`\`\n`)
    const { chunk = '' } = (await listener.events()).findLast(({ name }) => name === 'Response') ?? {}
    expect(chunk.split('&lt;').length - 1).toBe(60_001)
    expect(chunk).toContain('>b</span>')
  }, 10_000)

  test('the stream is not held up by addresses that it makes no links of', async () => {
    const { listener, call } = await begin('addresses')
    // To look for the end of each of them, the server would need half a minute.
    await call.answer('ftp://a?'.repeat(1_000))
    const { chunk = '' } = (await listener.events()).findLast(({ name }) => name === 'Response') ?? {}
    expect(chunk.split('ftp://a?').length - 1).toBe(1_000)
  }, 20_000)

  test('the stream of an id under which nothing was posted is 404', async () => {
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

  test('the stream of a model that refuses says so in a last Response, then Terminate; the model is not asked again', async () => {
    const { reqId, listener, call } = await begin('refused')
    await call.refuse(401)
    const events = await listener.events()
    expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
    expect(events[0]?.chunk).toContain('<p class="note failure">')
    expect((await chat.get(`/chatstream/${reqId}`)).text).toBe(withoutComments(listener.wire()))
    expect(callsFor('refused')).toHaveLength(1)
    expect(listener.wire()).not.toContain('chat-credential')
    expect(server().service.errors()).not.toContain('chat-credential')
  })

  test('the stream of a model that fails amid its answer keeps the text so far, says so, and ends with Terminate', async () => {
    const { listener, call } = await begin('failing')
    await call.send('The beginning')
    await listener.until('The beginning')
    call.cut()
    const { chunk } = await listener.until('note failure')
    expect(chunk).toContain('<p>The beginning</p>')
    expect(await listener.end()).toEndWith(TERMINATE)
    expect(callsFor('failing')).toHaveLength(1)
  })

  test('the stream of a model that says nothing says so', async () => {
    const { listener, call } = await begin('silent')
    await call.finish()
    const events = await listener.events()
    expect(events.map(({ name }) => name)).toEqual(['Response', 'Terminate'])
    expect(events[0]?.chunk).toContain('<p class="note failure">')
  })
})

function withoutComments(wire: string): string {
  return wire.replaceAll(':\n\n', '')
}
