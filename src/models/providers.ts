import type { ProviderV4 } from '@ai-sdk/provider'
import { correctedChunks } from './compatible-chunks.ts'
import type { Service } from './failures.ts'
import type { ModelProvider } from './settings.ts'

/** A service, and how to reach it. */
export interface Provider extends Service {
  /** `null` for a server of the operator's own. It may need no credential. */
  readonly defaultAddress: string | null
  /** Appended to an address from the variable. */
  readonly addressSuffix?: string
  /** Loads the AI SDK's package for this provider. Only the chosen one is loaded, to save time and memory. */
  readonly load: (connection: Connection, asksForUsage: boolean) => Promise<ProviderV4>
}

/** Passed explicitly, because the packages would otherwise read the environment themselves. */
interface Connection {
  readonly baseURL: string
  /** Omitted if the provider needs no credential and none is set. */
  readonly apiKey?: string
  readonly fetch: typeof fetch
}

export const PROVIDERS: Readonly<Record<ModelProvider, Provider>> = {
  openai: {
    title: 'OpenAI',
    credentialVariable: 'OPENAI_API_KEY',
    addressVariable: 'OPENAI_BASE_URL',
    defaultAddress: 'https://api.openai.com/v1',
    load: async connection => (await import('@ai-sdk/openai')).createOpenAI(connection),
  },
  anthropic: {
    title: 'Anthropic',
    credentialVariable: 'ANTHROPIC_API_KEY',
    addressVariable: 'ANTHROPIC_BASE_URL',
    defaultAddress: 'https://api.anthropic.com/v1',
    // https://docs.anthropic.com/en/docs/build-with-claude/streaming
    eventTypes: [
      ...['message_start', 'message_delta', 'message_stop', 'ping', 'error'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop'],
    ],
    load: async connection => (await import('@ai-sdk/anthropic')).createAnthropic(connection),
  },
  google: {
    title: 'Google',
    credentialVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    addressVariable: 'GOOGLE_GEMINI_BASE_URL',
    defaultAddress: 'https://generativelanguage.googleapis.com/v1beta',
    // Google's own clients expect an address without a version in this variable.
    addressSuffix: '/v1beta',
    load: async connection => (await import('@ai-sdk/google')).createGoogle(connection),
  },
  compatible: {
    title: 'The model server',
    credentialVariable: 'CHAT_API_KEY',
    addressVariable: 'CHAT_BASE_URL',
    defaultAddress: null,
    corrected: correctedChunks,
    load: async (connection, includeUsage) => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({ name: 'compatible', includeUsage, ...connection })
    },
  },
}
