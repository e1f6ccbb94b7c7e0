import { expect, setDefaultTimeout, test } from 'bun:test'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { chatClient } from '../../test/harness/chat/chat-client.ts'
import { damage } from '../../test/harness/damage.ts'
import { startServer } from '../../test/harness/service.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

setDefaultTimeout(120_000)

const FLAGS = ['--access-log', 'off']

test('the chat is ready only while its prompts can be stored', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'chat.db')
  const argv = ['chat', '--host', '127.0.0.1', '--port', '0', '--database', `sqlite:${file}`, ...FLAGS]
  {
    await using server = await startServer(argv)
    const chat = chatClient(() => server.address)
    expect((await chat.post('before', 'What is a spade?')).status).toBe(200)
    expect((await chat.get('/readyz')).status).toBe(200)
    renameSync(file, `${file}.away`)
    expect((await chat.get('/readyz')).status).toBe(503)
    renameSync(`${file}.away`, file)
    expect((await chat.get('/readyz')).status).toBe(200)
  }
  damage(file, 'prompts')
  await using server = await startServer(argv)
  const chat = chatClient(() => server.address)
  expect((await chat.post('damaged', 'What is a spade?')).status).toBe(503)
  expect((await chat.get('/readyz')).status).toBe(503)
  expect((await chat.get('/healthz')).status).toBe(200)
})
