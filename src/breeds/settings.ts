import { httpUrl, type Setting } from '../program/config.ts'
import { port } from '../server/settings.ts'

export const breedsPort = port(6543)

/** Address of the list service; `null` for the app's own list. */
export const breedsUrl: Setting<string | null> = {
  variable: 'BREEDS_URL',
  flag: 'breeds-url',
  placeholder: 'URL',
  fallback: '',
  meaning: "URL of the list service: JSON whose message object has the names as keys; the app's own list by default",
  parse: text => (text === '' ? null : httpUrl(text)),
}
