import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { spawnSync } from 'bun'
import type { Surroundings } from '../harness/service.ts'

const PROJECT = resolve(import.meta.dir, '../..')

const UNSHARE = Bun.which('unshare') ?? 'unshare'

/** Number of the user in the image. */
export const USER = '65532'

/** The instructions of one stage of the `Containerfile`, and of the one that is shipped. */
export const [BUILD_STAGE = [], SHIPPED_STAGE = []] = stages(
  readFileSync(join(PROJECT, 'deploy/Containerfile'), 'utf8'),
)

export interface Instruction {
  readonly name: string
  readonly text: string
}

/** The words after an instruction; of one in exec form, those of the array. */
export function operandsOf(stage: readonly Instruction[], name: string): string[] {
  const text = stage.find(instruction => instruction.name === name)?.text ?? ''
  const exec = text.indexOf('[')
  return exec === -1 ? text.split(' ') : JSON.parse(text.slice(exec))
}

/**
 * Runs the build stage without a container engine: each COPY into the folder `build`, each RUN there. The packages are those
 * of the project. The image's files are then in `image`, below the returned folder.
 */
export function buildImage(folder: string): void {
  const build = join(folder, 'build')
  mkdirSync(build)
  symlinkSync(join(PROJECT, 'node_modules'), join(build, 'node_modules'))
  for (const { name, text } of BUILD_STAGE) {
    if (name === 'COPY') copy(text.split(' '), build)
    if (name !== 'RUN' || text.startsWith('npm ci')) continue
    const command = text.replaceAll(/ (\/\S*)/g, ` '${folder}$1'`)
    const { exitCode, stderr } = spawnSync(['sh', '-c', command], { cwd: build })
    if (exitCode !== 0) throw new Error(`${command}: ${stderr}`)
  }
}

function copy(words: readonly string[], build: string): void {
  const target = words.at(-1) ?? ''
  for (const source of words.slice(0, -1)) {
    const isFolder = target.endsWith('/')
    const path = join(build, isFolder ? join(target, basename(source)) : target)
    cpSync(join(PROJECT, source), path, { recursive: true })
  }
}

/**
 * How to run the program in the image: as its first process, as its user, with the root read-only but for /data, and with
 * nothing of this machine but /dev. It takes user namespaces, which some systems forbid.
 */
export function inImage(folder: string, environment: Record<string, string> = {}): Surroundings {
  const image = join(folder, 'image')
  const data = join(folder, 'data')
  mkdirSync(data, { recursive: true })
  for (const place of ['data', 'proc', 'dev']) mkdirSync(join(image, place), { recursive: true })
  const mounts = [
    `mount --rbind '${image}' '${image}' && mount -o remount,bind,ro '${image}'`,
    `mount --rbind '${data}' '${image}/data' && mount --rbind /dev '${image}/dev' && mount -t proc proc '${image}/proc'`,
    'exec env -i "$@"',
  ]
  const namespaces = ['--map-root-user', '--mount', '--pid', '--fork', '--kill-child']
  const variables = Object.entries({ ...environmentOf(SHIPPED_STAGE), ...environment }).map(pair => pair.join('='))
  const entering = [UNSHARE, `--map-user=${USER}`, `--map-group=${USER}`, `--root=${image}`, '--wd=/data']
  return {
    through: [UNSHARE, ...namespaces, 'sh', '-c', mounts.join(' && '), 'sh', ...variables, ...entering],
    program: ['/usr/local/bin/stockroom'],
  }
}

function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  return Object.fromEntries(operandsOf(stage, 'ENV').map(word => word.split('=')))
}

function stages(file: string): Instruction[][] {
  const found: Instruction[][] = []
  for (const line of file.split('\n')) {
    const [, name, text] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (name === 'FROM') found.push([])
    if (name !== undefined && text !== undefined) found.at(-1)?.push({ name, text })
  }
  return found
}
