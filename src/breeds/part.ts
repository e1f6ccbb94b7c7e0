import { adminSettings } from '../admin/settings.ts'
import type { Part } from '../part.ts'
import { host, serverSettings } from '../server/settings.ts'
import { TRACING_NOTE, tracingSettings } from '../tracing/settings.ts'
import { breedsPort, breedsUrl } from './settings.ts'

export const breeds: Part = {
  commands: [
    {
      name: 'breeds',
      summary: 'Serve the page that lists dog breeds, one at a time.',
      settings: [host, breedsPort, breedsUrl, ...serverSettings, ...adminSettings, ...tracingSettings],
      note: TRACING_NOTE,
      run: async line => (await import('./serve.ts')).serveBreeds(line),
    },
  ],
}
