import { expect, setDefaultTimeout, test } from 'bun:test'
import { type ChatServer, startChatServer } from '../../test/harness/chat/chat-server.ts'
import { withEachEngine } from '../../test/harness/contract.ts'
import { adminAddress, scrape } from '../../test/harness/metrics.ts'
import { startServer } from '../../test/harness/service.ts'
import { until } from '../../test/harness/until.ts'

setDefaultTimeout(120_000)

const ENVIRONMENT = { ADMIN_PORT: '0' }

withEachEngine('the metrics of the chat', engine => {
  test('show answers, listeners, tokens and how answers ended', async () => {
    // Some servers take the name of a file.
    const environment = { ...ENVIRONMENT, CHAT_MODEL: String.raw`compatible:C:\new\"small".gguf` }
    await using server = await startChatServer(engine, { environment })
    const { chat, model, service } = server
    const listener = await begin(server, 'one')
    const call = await model.nextCall()
    await call.send('Hello')
    await listener.until('Hello')
    const amid = await scrape(service)
    expect(amid.value('stockroom_chat_answers_running')).toBe(1)
    expect(amid.value('stockroom_model_answers_in_progress', { provider: 'compatible' })).toBe(1)
    expect(amid.value('stockroom_chat_listeners')).toBe(1)
    expect(amid.value('stockroom_event_streams')).toBe(1)
    expect(amid.value('stockroom_model_first_piece_duration_seconds_count')).toBe(1)
    await call.finish()
    await listener.end()
    const second = await begin(server, 'two')
    await model.nextCall()
    expect(await chat.stop('two')).toBe(204)
    await second.end()
    await until(async () => (await scrape(service)).value('stockroom_model_answers_total') === 2)
    const { value } = await scrape(service)
    const named = String.raw`C:\\new\\\"small\".gguf`
    expect(value('stockroom_model_answers_total', { outcome: 'finished', model: named })).toBe(1)
    expect(value('stockroom_model_answers_total', { outcome: 'stopped' })).toBe(1)
    expect(value('stockroom_model_tokens_total', { direction: 'input' })).toBeGreaterThan(0)
    expect(value('stockroom_model_tokens_total', { direction: 'output' })).toBeGreaterThan(0)
    expect(value('stockroom_chat_answers_running')).toBe(0)
    expect(value('stockroom_http_requests_total', { route: '/chat/:req_id', method: 'POST', status: '200' })).toBe(2)
    expect((await fetch(`${await adminAddress(service)}/readyz`)).status).toBe(200)
  })
})

test('the breed page shows its requests and its streams', async () => {
  const place = ['--host', '127.0.0.1', '--port', '0', '--admin-port', '0', '--access-log', 'off']
  await using service = await startServer(['breeds', ...place])
  const leaving = new AbortController()
  const stream = await fetch(`${service.address}/dogstream`, leaving)
  await until(async () => (await scrape(service)).value('stockroom_event_streams') === 1)
  leaving.abort()
  await stream.body?.cancel().catch(() => {})
  await until(async () => (await scrape(service)).value('stockroom_event_streams') === 0)
  const { value, families } = await scrape(service)
  expect(value('stockroom_http_requests_total', { route: '/dogstream', status: '200' })).toBe(1)
  expect(value('stockroom_ready')).toBe(1)
  expect(families.map(({ name }) => name).filter(name => /sqlite|postgres|cache/.test(name))).toEqual([])
  for (const path of ['/healthz', '/readyz']) {
    expect((await fetch((await adminAddress(service)) + path)).status, path).toBe(200)
  }
})

async function begin({ chat }: ChatServer, reqId: string) {
  expect((await chat.post(reqId, 'What is this?')).status).toBe(200)
  return chat.listen(reqId)
}
