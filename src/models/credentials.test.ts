import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, openModel } from '../../test/harness/model-client.ts'
import { googleGenerate } from '../../test/harness/peers/google-generate.ts'
import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { PROTOCOLS } from '../../test/harness/peers/protocols.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'

describe('credentials', () => {
  test('a credential is not sent to another server by a redirect', async () => {
    await using elsewhere = await startModelServer(openaiChat)
    await using server = await startModelServer(openaiChat)
    const answer = ask(await openModel(server.environment))
    const location = `${elsewhere.address}/v1/chat/completions`
    await (await server.nextCall()).reply(307, { Location: location }, '')
    expect(await answer.end()).toMatchObject({ failure: { failure: 'not understood' } })
    expect(elsewhere.calls).toHaveLength(0)
  })

  test('no error contains the credential or what the provider wrote', async () => {
    for (const protocol of PROTOCOLS) {
      await using server = await startModelServer(protocol)
      const answer = ask(await openModel(server.environment))
      const call = await server.nextCall()
      await call.refuse(401, { message: `no such key: ${call.credential}` })
      const { failure } = await answer.end()
      const shown = `${Bun.inspect(failure)} ${JSON.stringify(failure)}`
      expect(shown).not.toContain('-credential')
      expect(shown).not.toContain('no such key')
      expect(shown).not.toContain(server.address)
      expect(failure?.cause).toBeUndefined()
    }
  })

  test('a credential that Google calls invalid with status 400 is reported as such', async () => {
    await using server = await startModelServer(googleGenerate)
    const answer = ask(await openModel(server.environment))
    await (await server.nextCall()).refuse(400, { code: 'API_KEY_INVALID' })
    const { failure } = await answer.end()
    expect(failure?.message).toBe('Google refused the credential: check GOOGLE_GENERATIVE_AI_API_KEY.')
  })

  test('a credential is read from a file if its variable names one', async () => {
    await using server = await startModelServer(openaiChat)
    using folder = temporaryFolder()
    const file = join(folder.path, 'credential')
    writeFileSync(file, 'from-a-file\n')
    const { CHAT_API_KEY: _, ...environment } = server.environment
    const answer = ask(await openModel({ ...environment, CHAT_API_KEY_FILE: file }))
    const call = await server.nextCall()
    expect(call.credential).toBe('Bearer from-a-file')
    await call.answer('Yes.')
    await answer.end()
  })

  test('a compatible server needs no credential, and then gets none', async () => {
    await using server = await startModelServer(openaiChat)
    const { CHAT_API_KEY: _, ...environment } = server.environment
    const answer = ask(await openModel(environment))
    const call = await server.nextCall()
    expect(call.credential).toBeNull()
    await call.answer('Yes.')
    await answer.end()
  })
})
