import type { Part } from '../part.ts'
import { demoHost, demoPort } from './settings.ts'

export const demo: Part = {
  commands: [
    {
      name: 'demo',
      summary: 'Serve a demo shop with 500 products, on a store catalog of its own that is gone when it stops.',
      settings: [demoHost, demoPort],
      run: async line => (await import('./serve.ts')).serveDemo(line),
    },
  ],
}
