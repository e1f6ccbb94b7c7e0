import { type Clock, systemClock } from '../clock.ts'
import { credential } from '../config.ts'
import { SettingError } from '../operator-error.ts'
import type { ChatModel } from './chat-model.ts'
import type { Service } from './failures.ts'
import { PROVIDERS, type Provider } from './providers.ts'
import { type ModelChoice, providerAddress } from './settings.ts'

/** The demo model's one setting is that no other is chosen. */
const DEMO: Service = { title: 'The demo model', credentialVariable: 'CHAT_MODEL', addressVariable: 'CHAT_MODEL' }

/**
 * The model that the settings choose: `choice` is CHAT_MODEL, null for the offline demo model; `baseUrl` is
 * CHAT_BASE_URL. Credentials come from the environment alone. Nobody is asked anything yet.
 * Throws a `SettingError` that names the variable which is missing or wrong.
 */
export async function openChatModel(
  choice: ModelChoice | null,
  baseUrl: string | null,
  clock: Clock = systemClock,
): Promise<ChatModel> {
  return choice === null ? openDemo(clock) : openProvided(choice, baseUrl, clock)
}

// What asks a model is imported here, since the AI SDK takes longer to load than all else that a command loads.

async function openDemo(clock: Clock): Promise<ChatModel> {
  const [{ answering }, { demoModel }] = await Promise.all([import('./answer.ts'), import('./demo.ts')])
  return answering({ name: 'demo', languageModel: demoModel(clock), service: DEMO }, clock)
}

async function openProvided(choice: ModelChoice, baseUrl: string | null, clock: Clock): Promise<ChatModel> {
  const provider = PROVIDERS[choice.provider]
  const apiKey = credentialFor(provider, choice)
  const baseURL = addressOf(provider, choice, baseUrl)
  const [{ answering }, { providerFetch }, { createProviderRegistry }] = await Promise.all([
    import('./answer.ts'),
    import('./provider-fetch.ts'),
    import('ai'),
  ])
  const name = `${choice.provider}:${choice.model}` as const
  const loaded = await provider.load({ baseURL, fetch: providerFetch(provider), ...(apiKey !== null && { apiKey }) })
  const languageModel = createProviderRegistry({ [choice.provider]: loaded }).languageModel(name)
  return answering({ name, languageModel, service: provider }, clock)
}

function credentialFor(provider: Provider, choice: ModelChoice): string | null {
  const apiKey = credential(provider.credentialVariable)
  if (apiKey === null && provider.credentialNeeded) {
    throw new SettingError(`${provider.credentialVariable}: a credential is needed for a model of ${choice.provider}:`)
  }
  return apiKey
}

function addressOf(provider: Provider, choice: ModelChoice, baseUrl: string | null): string {
  if (provider.usualAddress === null) {
    if (baseUrl !== null) return baseUrl
    throw new SettingError(`${provider.addressVariable}: an address is needed for a model of ${choice.provider}:`)
  }
  if (baseUrl !== null) {
    throw new SettingError(
      `CHAT_BASE_URL: is for compatible: models; ${choice.provider}: has ${provider.addressVariable}`,
    )
  }
  const address = providerAddress(provider.addressVariable)
  return address === null ? provider.usualAddress : address + provider.addressSuffix
}
