import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask, openModel } from '../../test/harness/model-client.ts'
import { startModelServer } from '../../test/harness/peers/model-server.ts'
import { openaiChat } from '../../test/harness/peers/openai-chat.ts'
import { temporaryFolder } from '../../test/harness/temporary-folder.ts'
import { SettingError } from '../program/operator-error.ts'

describe('settings', () => {
  test('CHAT_MODEL without a known provider is refused and not repeated', async () => {
    for (const text of ['sk-secret', 'mistral:large', ':x', 'OPENAI:gpt-5-mini']) {
      const message = await settingError({ CHAT_MODEL: text, OPENAI_API_KEY: 'key' })
      expect(message).toBe('CHAT_MODEL: use PROVIDER:MODEL; providers are openai, anthropic, google, compatible')
    }
  })

  test("CHAT_MODEL without a model's name is refused", async () => {
    for (const text of ['openai:', 'openai: ']) {
      expect(await settingError({ CHAT_MODEL: text, OPENAI_API_KEY: 'key' })).toStartWith('CHAT_MODEL: a model name')
    }
  })

  test('CHAT_MODEL may name a model with a colon in it', async () => {
    await using server = await startModelServer(openaiChat)
    const model = await openModel({ ...server.environment, CHAT_MODEL: 'compatible:llama3.2:3b' })
    expect(model.name).toBe('compatible:llama3.2:3b')
    const answer = ask(model)
    const call = await server.nextCall()
    expect(call.model).toBe('llama3.2:3b')
    await call.answer('Yes.')
    await answer.end()
  })

  test('CHAT_MODEL needs the credential of its provider', async () => {
    expect(await settingError({ CHAT_MODEL: 'openai:m' })).toStartWith('OPENAI_API_KEY: ')
    expect(await settingError({ CHAT_MODEL: 'anthropic:m' })).toStartWith('ANTHROPIC_API_KEY: ')
    expect(await settingError({ CHAT_MODEL: 'google:m' })).toStartWith('GOOGLE_GENERATIVE_AI_API_KEY: ')
    expect(await settingError({ CHAT_MODEL: 'openai:m', OPENAI_API_KEY: '' })).toStartWith('OPENAI_API_KEY: ')
  })

  test('CHAT_MODEL of a compatible server needs a URL', async () => {
    expect(await settingError({ CHAT_MODEL: 'compatible:m' })).toStartWith('CHAT_BASE_URL: a URL is required')
  })

  test('CHAT_BASE_URL that no path can be added to is refused and not repeated', async () => {
    const wrong = [
      'localhost:11434',
      'ftp://host/v1',
      'http://me:secret@host/v1',
      'http://host/v1?key=secret',
      'http://host/v1?',
      'http://host/v1#',
      'secret',
    ]
    for (const address of wrong) {
      const message = await settingError({ CHAT_MODEL: 'compatible:m', CHAT_BASE_URL: address })
      expect(message).toStartWith('CHAT_BASE_URL: ')
      expect(message).not.toContain('secret')
    }
    for (const variable of ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'GOOGLE_GEMINI_BASE_URL']) {
      const [provider = ''] = variable.toLowerCase().split('_')
      const environment = { [`${provider.toUpperCase()}_API_KEY`]: 'key', GOOGLE_GENERATIVE_AI_API_KEY: 'key' }
      const message = await settingError({ CHAT_MODEL: `${provider}:m`, [variable]: 'secret', ...environment })
      expect(message).toStartWith(`${variable}: `)
      expect(message).not.toContain('secret')
    }
  })

  test('CHAT_BASE_URL without CHAT_MODEL is refused, because the demo model would answer for that server', async () => {
    const message = await settingError({ CHAT_BASE_URL: 'http://localhost:11434/v1' })
    expect(message).toStartWith('CHAT_BASE_URL: needs CHAT_MODEL=compatible:MODEL')
  })

  test('CHAT_BASE_URL for a provider that is not a compatible server is refused', async () => {
    const environment = { CHAT_MODEL: 'openai:m', OPENAI_API_KEY: 'key', CHAT_BASE_URL: 'http://localhost:11434/v1' }
    expect(await settingError(environment)).toContain('OPENAI_BASE_URL')
  })

  test('a credential that no header can carry is refused and not repeated', async () => {
    for (const text of ['two words', 'line\nbreak', 'schlüssel']) {
      const message = await settingError({ CHAT_MODEL: 'openai:m', OPENAI_API_KEY: text })
      expect(message).toBe('OPENAI_API_KEY: a credential must be printable ASCII without spaces')
    }
  })

  test('a credential given twice, or in a missing file, is refused', async () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'none')
    const twice = { CHAT_MODEL: 'openai:m', OPENAI_API_KEY: 'key', OPENAI_API_KEY_FILE: file }
    expect(await settingError(twice)).toBe('OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set; set one')
    expect(await settingError({ CHAT_MODEL: 'openai:m', OPENAI_API_KEY_FILE: file })).toStartWith(
      'OPENAI_API_KEY_FILE: ',
    )
    writeFileSync(file, '\n')
    expect(await settingError({ CHAT_MODEL: 'openai:m', OPENAI_API_KEY_FILE: file })).toStartWith(
      'OPENAI_API_KEY_FILE: ',
    )
  })
})

async function settingError(settings: Record<string, string>): Promise<string> {
  try {
    await openModel(settings)
  } catch (error) {
    if (error instanceof SettingError && error.exitStatus === 2) return error.message
    throw error
  }
  throw new Error('the settings were taken')
}
