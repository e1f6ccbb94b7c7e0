import { embeddedFiles } from 'bun'
import type { Command } from '../command.ts'
import { readCommandLine } from '../config.ts'
import { collectNotices } from './notices.ts'

/** What `npm run build` puts beside the executable and into it, as the packages are not there when it runs. */
export const NOTICES_NAME = 'THIRD-PARTY-NOTICES'

export const licenses: Command = {
  name: 'licenses',
  operands: '',
  summary: 'Print the licenses of the program and of all that it is made of.',
  settings: [],
  run: async argv => {
    readCommandLine(argv, licenses.settings)
    const embedded = embeddedFiles.find(file => 'name' in file && String(file.name).includes(NOTICES_NAME))
    process.stdout.write(embedded ? await embedded.text() : collectNotices())
  },
}
