import type { ProviderV4 } from '@ai-sdk/provider'
import type { Service } from './failures.ts'
import type { ModelProvider } from './settings.ts'

/** Who runs models. */
export interface Provider extends Service {
  readonly credentialNeeded: boolean
  /** Where it usually is; null where there is no such place. */
  readonly usualAddress: string | null
  /** What is added to the address that the variable gives. */
  readonly addressSuffix: string
  /** Loads the AI SDK's package for this provider. Each takes its time and memory, so only the chosen one is loaded. */
  readonly load: (connection: Connection) => Promise<ProviderV4>
}

/** All that a provider's package would otherwise look up in the environment by itself. */
interface Connection {
  readonly baseURL: string
  /** Left out where no credential is given to a provider that needs none. */
  readonly apiKey?: string
  readonly fetch: typeof fetch
}

export const PROVIDERS: Readonly<Record<ModelProvider, Provider>> = {
  openai: {
    title: 'OpenAI',
    credentialVariable: 'OPENAI_API_KEY',
    credentialNeeded: true,
    addressVariable: 'OPENAI_BASE_URL',
    usualAddress: 'https://api.openai.com/v1',
    addressSuffix: '',
    load: async connection => (await import('@ai-sdk/openai')).createOpenAI(connection),
  },
  anthropic: {
    title: 'Anthropic',
    credentialVariable: 'ANTHROPIC_API_KEY',
    credentialNeeded: true,
    addressVariable: 'ANTHROPIC_BASE_URL',
    usualAddress: 'https://api.anthropic.com/v1',
    addressSuffix: '',
    load: async connection => (await import('@ai-sdk/anthropic')).createAnthropic(connection),
  },
  google: {
    title: 'Google',
    credentialVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    credentialNeeded: true,
    addressVariable: 'GOOGLE_GEMINI_BASE_URL',
    usualAddress: 'https://generativelanguage.googleapis.com/v1beta',
    // Google's own clients read the variable as an address without a version.
    addressSuffix: '/v1beta',
    load: async connection => (await import('@ai-sdk/google')).createGoogle(connection),
  },
  compatible: {
    title: 'The model server',
    credentialVariable: 'CHAT_API_KEY',
    credentialNeeded: false,
    addressVariable: 'CHAT_BASE_URL',
    usualAddress: null,
    addressSuffix: '',
    load: async connection =>
      (await import('@ai-sdk/openai-compatible')).createOpenAICompatible({ name: 'compatible', ...connection }),
  },
}
