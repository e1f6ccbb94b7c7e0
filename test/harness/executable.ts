import { copyFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { spawn } from 'bun'

/** The variable in which `npm test` passes the path of the executable that it has built. */
export const EXECUTABLE_VARIABLE = 'STOCKROOM_TEST_EXECUTABLE'

const ROOT = resolve(import.meta.dir, '../..')

/** Puts an executable of its own into a folder, for a test that looks at it or deletes it, and returns its path. */
export async function executableIn(folder: string): Promise<string> {
  const built = process.env[EXECUTABLE_VARIABLE]
  if (built === undefined) return buildExecutable(folder)
  for (const name of readdirSync(dirname(built))) copyFileSync(join(dirname(built), name), join(folder, name))
  return join(folder, basename(built))
}

/** Builds the executable, as `npm run build` does, and returns its path. */
export async function buildExecutable(folder: string): Promise<string> {
  const build = spawn([process.execPath, join(ROOT, 'build.ts'), folder], { stdout: 'ignore', stderr: 'pipe' })
  const errors = await build.stderr.text()
  if ((await build.exited) !== 0) throw new Error(`the executable was not built: ${errors}`)
  return join(folder, 'stockroom')
}
