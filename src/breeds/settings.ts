import type { Setting } from '../config.ts'
import { SettingError } from '../operator-error.ts'
import { port } from '../server/settings.ts'

export const breedsPort = port(6543)

/** The list service of the breeds; null for the list that ships with the app. */
export const breedsUrl: Setting<string | null> = {
  variable: 'BREEDS_URL',
  flag: 'breeds-url',
  placeholder: 'URL',
  fallback: '',
  meaning: "the list service, a JSON object whose message object's keys are the names; the app's own list by default",
  parse: text => {
    if (text === '') return null
    // Not repeated: it may hold a credential.
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new SettingError('that is no address of http or https')
    return text
  },
}
