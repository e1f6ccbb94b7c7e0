import { join, resolve } from 'node:path'
import { spawn } from 'bun'

/** The variable in which `npm test` passes the path of the executable that it has built. */
export const EXECUTABLE_VARIABLE = 'STOCKROOM_TEST_EXECUTABLE'

const ROOT = resolve(import.meta.dir, '../..')

/** Builds the executable, as `npm run build` does, and returns its path. */
export async function buildExecutable(folder: string): Promise<string> {
  const build = spawn([process.execPath, join(ROOT, 'build.ts'), folder], { stdout: 'ignore', stderr: 'pipe' })
  const errors = await build.stderr.text()
  if ((await build.exited) !== 0) throw new Error(`the executable was not built: ${errors}`)
  return join(folder, 'stockroom')
}
