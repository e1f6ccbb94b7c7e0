import { expect, setDefaultTimeout, test } from 'bun:test'
import { type ChatServer, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { sqlite } from '../../test/harness/engines.ts'

setDefaultTimeout(120_000)

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`

test('the trace of the request that begins an answer is passed on to the model, with what other vendors added', async () => {
  await using server = await startChatServer(sqlite)
  expect(
    await passedOn(server, { traceparent: TRACEPARENT, tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' }),
  ).toEqual({ traceparent: TRACEPARENT, tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' })
  expect(await passedOn(server, { traceparent: `00-${TRACE}-${CALLER}-00` })).toEqual({
    traceparent: `00-${TRACE}-${CALLER}-00`,
  })
  expect(await passedOn(server, {})).toEqual({})
})

test('the trace of a later version is passed on as far as it is known', async () => {
  await using server = await startChatServer(sqlite)
  for (const traceparent of [`cc-${TRACE}-${CALLER}-01`, `cc-${TRACE}-${CALLER}-ff-what-comes`]) {
    expect(await passedOn(server, { traceparent })).toEqual({ traceparent: TRACEPARENT })
  }
})

test('a malformed traceparent is ignored', async () => {
  await using server = await startChatServer(sqlite)
  for (const traceparent of [
    'nonsense',
    `00-${TRACE}-${CALLER}`,
    `00-${TRACE}-${CALLER}-1`,
    `00-${TRACE}-${CALLER}-01-more`,
    `00-${TRACE}-${CALLER}-01.`,
    `cc-${TRACE}-${CALLER}-01.`,
    `ff-${TRACE}-${CALLER}-01`,
    `00-${TRACE.toUpperCase()}-${CALLER}-01`,
    `00-${'0'.repeat(32)}-${CALLER}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${CALLER}-0x`,
    `${TRACEPARENT}, ${TRACEPARENT}`,
  ]) {
    expect(await passedOn(server, { traceparent, tracestate: 'congo=1' }), traceparent).toEqual({})
  }
})

test('a malformed tracestate is dropped, and the trace goes on', async () => {
  await using server = await startChatServer(sqlite)
  const many = Array.from({ length: 33 }, (_, index) => `vendor${index}=1`).join(',')
  for (const tracestate of ['', 'congo', '=1', 'Congo=1', 'congo=', 'congo=a=b', 'congo=1,congo=2', 'congo=é', many]) {
    expect(await passedOn(server, { traceparent: TRACEPARENT, tracestate }), tracestate).toEqual({
      traceparent: TRACEPARENT,
    })
  }
  for (const tracestate of ['congo=1,,rojo=2', 'fw529a3039@dt=x', `congo=${'x'.repeat(256)}`]) {
    expect(await passedOn(server, { traceparent: TRACEPARENT, tracestate })).toMatchObject({ tracestate })
  }
})

let asked = 0

/** The headers of the trace that the model gets when the stream of a new prompt is opened with these. */
async function passedOn({ chat, model, service }: ChatServer, headers: Record<string, string>) {
  asked += 1
  await chat.post(`traced-${asked}`, 'Hello')
  const listening = new AbortController()
  const stream = fetch(`${service.address}/chatstream/traced-${asked}`, { headers, signal: listening.signal })
  const call = await model.nextCall()
  await call.answer('Hello')
  await (await stream).text()
  const { traceparent, tracestate } = call.headers
  return { ...(traceparent !== undefined && { traceparent }), ...(tracestate !== undefined && { tracestate }) }
}
