import type { Setting } from '../program/config.ts'
import { SettingError } from '../program/operator-error.ts'
import { port } from '../server/settings.ts'

export const breedsPort = port(6543)

/** Address of the list service; `null` for the app's own list. */
export const breedsUrl: Setting<string | null> = {
  variable: 'BREEDS_URL',
  flag: 'breeds-url',
  placeholder: 'URL',
  fallback: '',
  meaning: "URL of the list service: JSON whose message object has the names as keys; the app's own list by default",
  parse: text => {
    if (text === '') return null
    // The message does not repeat the value, which may contain a credential.
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new SettingError('an http or https URL is required')
    return text
  },
}
