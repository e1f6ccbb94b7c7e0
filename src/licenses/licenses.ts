import { embeddedFiles } from 'bun'
import { collectNotices } from './notices.ts'

/** `npm run build` writes this file beside the executable and embeds it, because the executable runs without its packages. */
export const NOTICES_NAME = 'THIRD-PARTY-NOTICES'

export async function printLicenses(): Promise<void> {
  const embedded = embeddedFiles.find(file => 'name' in file && String(file.name).includes(NOTICES_NAME))
  process.stdout.write(embedded ? await embedded.text() : collectNotices())
}
