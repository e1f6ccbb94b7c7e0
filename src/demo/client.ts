import { join } from 'node:path'
import { CLIENT_SOURCE } from './client-source.js'

/**
 * Loads the client that browsers get into this process, by way of files in `folder`: a bundler cannot import one file as text
 * and as a module.
 */
export async function loadClient(folder: string): Promise<typeof import('stockroom/client')> {
  for (const [name, text] of Object.entries(CLIENT_SOURCE)) await Bun.write(join(folder, name), text)
  return import(join(folder, 'index.js'))
}
