import { embeddedFiles } from 'bun'
import { collectNotices } from './notices.ts'

/** The file that `npm run build` writes beside the executable and embeds in it, since it runs without its packages. */
export const NOTICES_NAME = 'THIRD-PARTY-NOTICES'

export async function printLicenses(): Promise<void> {
  const embedded = embeddedFiles.find(file => 'name' in file && String(file.name).includes(NOTICES_NAME))
  process.stdout.write(embedded ? await embedded.text() : collectNotices())
}
