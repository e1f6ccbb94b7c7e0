import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { executableIn } from '../harness/executable.ts'
import { temporaryFolder } from '../harness/temporary-folder.ts'

/** The licenses that `npm run build` puts beside the executable. */
export async function noticesBeside(): Promise<string> {
  using folder = temporaryFolder()
  const executable = await executableIn(folder.path)
  return readFileSync(join(dirname(executable), 'THIRD-PARTY-NOTICES.txt'), 'utf8')
}
