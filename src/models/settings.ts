import { fromEnvironment, type Setting } from '../config.ts'
import { SettingError } from '../operator-error.ts'

/** Who runs the model. `compatible` is any server that speaks the OpenAI chat-completions protocol. */
const MODEL_PROVIDERS = ['openai', 'anthropic', 'google', 'compatible'] as const
export type ModelProvider = (typeof MODEL_PROVIDERS)[number]

export interface ModelChoice {
  readonly provider: ModelProvider
  /** The model's name, as its provider spells it. */
  readonly model: string
}

/** For the --help of the commands that ask a model. */
export const CREDENTIALS_NOTE = `A provider's credential comes from the environment alone: OPENAI_API_KEY, ANTHROPIC_API_KEY,
GOOGLE_GENERATIVE_AI_API_KEY, or CHAT_API_KEY for compatible:. Each may be in a file instead, which the same name
with _FILE at its end tells.`

/** The model that answers; null is the offline demo model. */
export const chatModel: Setting<ModelChoice | null> = {
  variable: 'CHAT_MODEL',
  flag: 'model',
  placeholder: 'PROVIDER:MODEL',
  fallback: '',
  meaning: `the model that answers, of ${MODEL_PROVIDERS.join(', ')}; an offline demo model by default`,
  parse: text => (text === '' ? null : modelChoice(text)),
}

export const chatBaseUrl: Setting<string | null> = {
  variable: 'CHAT_BASE_URL',
  flag: 'base-url',
  placeholder: 'URL',
  fallback: '',
  meaning: 'where the server of a compatible: model is, for example http://localhost:11434/v1',
  parse: text => (text === '' ? null : webAddress(text)),
}

/** The address of a provider, under the name that the provider's clients know; it has no flag. `null` when not set. */
export function providerAddress(variable: string): string | null {
  return fromEnvironment(variable, webAddress)
}

function modelChoice(text: string): ModelChoice {
  const [scheme = '', ...rest] = text.split(':')
  const provider = MODEL_PROVIDERS.find(name => name === scheme)
  if (!provider) {
    // Not repeated: it may be a credential in the wrong variable.
    throw new SettingError(`write PROVIDER:MODEL; the providers are ${MODEL_PROVIDERS.join(', ')}`)
  }
  const model = rest.join(':').trim()
  if (model === '') throw new SettingError(`a model's name is needed after ${provider}:, as its provider spells it`)
  return { provider, model }
}

/** The address of a web interface, to which paths are added. It may hold a password, so no error repeats it. */
function webAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new SettingError('that is no web address; write it as http://localhost:11434/v1')
  }
  if (url.username !== '' || url.password !== '') {
    throw new SettingError('an address holds no user and no password; the credential has a variable of its own')
  }
  if (url.search !== '' || url.hash !== '') throw new SettingError('an address to add paths to has no ? and no #')
  return url.href.replace(/\/+$/, '')
}
