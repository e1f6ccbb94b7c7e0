import { type Clock, systemClock } from '../clock.ts'
import { credential, fromEnvironment } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import type { ChatModel } from './chat-model.ts'
import { demoModel } from './demo.ts'
import { PROVIDERS, type Provider } from './providers.ts'
import { type ModelChoice, webAddress } from './settings.ts'

interface ModelOptions {
  readonly clock?: Clock
  /** Asks a `compatible:` server to report usage. Off by default, because some servers refuse the question. */
  readonly asksForUsage?: boolean
}

/**
 * Opens the chosen model, without calling it. `choice` is CHAT_MODEL, `null` for the offline demo model; `baseUrl` is
 * CHAT_BASE_URL. Credentials come from the environment only. Throws a `SettingError` that names the missing or wrong
 * variable.
 */
export async function openChatModel(
  choice: ModelChoice | null,
  baseUrl: string | null,
  { clock = systemClock, asksForUsage = false }: ModelOptions = {},
): Promise<ChatModel> {
  if (choice === null) {
    if (baseUrl !== null) throw new SettingError('CHAT_BASE_URL: needs CHAT_MODEL=compatible:MODEL, too')
    return demoModel(clock)
  }
  const provider = PROVIDERS[choice.provider]
  const apiKey = credentialFor(provider, choice)
  const baseURL = addressOf(provider, choice, baseUrl)
  // Imported now, because the AI SDK takes longer to load than the rest of a command.
  const { providerFetch } = await import('./provider-fetch.ts')
  const { limitedModel } = await import('./answer.ts')
  const connection = { baseURL, fetch: providerFetch(provider), ...(apiKey !== null && { apiKey }) }
  const loaded = await provider.load(connection, asksForUsage)
  const languageModel = loaded.languageModel(choice.model)
  return limitedModel({ name: `${choice.provider}:${choice.model}`, languageModel, service: provider }, clock)
}

function credentialFor(provider: Provider, choice: ModelChoice): string | null {
  const apiKey = credential(provider.credentialVariable)
  if (apiKey === null && provider.defaultAddress !== null) {
    throw new SettingError(`${provider.credentialVariable}: a credential is required for ${choice.provider}: models`)
  }
  return apiKey
}

function addressOf(provider: Provider, choice: ModelChoice, baseUrl: string | null): string {
  if (provider.defaultAddress === null) {
    if (baseUrl !== null) return baseUrl
    throw new SettingError(`${provider.addressVariable}: a URL is required for ${choice.provider}: models`)
  }
  if (baseUrl !== null) {
    throw new SettingError(
      `CHAT_BASE_URL: applies to compatible: models only; for ${choice.provider}: set ${provider.addressVariable}`,
    )
  }
  // The variable that the provider's own clients use.
  const address = fromEnvironment(provider.addressVariable, webAddress)
  return address === null ? provider.defaultAddress : address + (provider.addressSuffix ?? '')
}
