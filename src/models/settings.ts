import type { Setting } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'

/** `compatible` is any server with the OpenAI chat-completions protocol. */
const MODEL_PROVIDERS = ['openai', 'anthropic', 'google', 'compatible'] as const
export type ModelProvider = (typeof MODEL_PROVIDERS)[number]

export interface ModelChoice {
  readonly provider: ModelProvider
  /** The provider's name for the model. */
  readonly model: string
}

/** For the --help of commands that use a model. */
export const CREDENTIALS_NOTE = `Credentials come from the environment only: OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, or
CHAT_API_KEY for compatible: models. To read a credential from a file, add _FILE to the name of its variable.`

/** `null` for the offline demo model. */
export const chatModel: Setting<ModelChoice | null> = {
  variable: 'CHAT_MODEL',
  flag: 'model',
  placeholder: 'PROVIDER:MODEL',
  fallback: '',
  meaning: `the model to use; providers are ${MODEL_PROVIDERS.join(', ')}; an offline demo model by default`,
  parse: text => (text === '' ? null : modelChoice(text)),
}

export const chatBaseUrl: Setting<string | null> = {
  variable: 'CHAT_BASE_URL',
  flag: 'base-url',
  placeholder: 'URL',
  fallback: '',
  meaning: 'base URL of the server for compatible: models, for example http://localhost:11434/v1',
  parse: text => (text === '' ? null : webAddress(text)),
}

function modelChoice(text: string): ModelChoice {
  const [scheme = '', ...rest] = text.split(':')
  const provider = MODEL_PROVIDERS.find(name => name === scheme)
  if (!provider) {
    // The message does not repeat the value, which may be a credential in the wrong variable.
    throw new SettingError(`use PROVIDER:MODEL; providers are ${MODEL_PROVIDERS.join(', ')}`)
  }
  const model = rest.join(':').trim()
  if (model === '') throw new SettingError(`a model name is required after ${provider}:`)
  return { provider, model }
}

/** A base URL, to which paths are appended. It may contain a password, so errors do not repeat it. */
export function webAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SettingError('an http or https URL is required, for example http://localhost:11434/v1')
  }
  if (url.username !== '' || url.password !== '') {
    throw new SettingError('the URL must not contain a user or password; the credential has a variable of its own')
  }
  // Even alone, either of them would be in front of the path.
  if (/[?#]/.test(url.href)) throw new SettingError('the URL must not contain ? or #')
  return url.href.replace(/\/+$/, '')
}
