import { resolve } from 'node:path'
import { spawn } from 'bun'
import { surroundingsOf } from './service.ts'

export interface Evaluation {
  readonly output: string
  readonly errors: string
  readonly status: number | null
}

/** Runs a few lines in their own process, in the source folder. */
export async function evaluation(program: string, environment: Record<string, string> = {}): Promise<Evaluation> {
  const child = spawn([process.execPath, '--eval', program], {
    ...surroundingsOf({ environment, folder: resolve(import.meta.dir, '../../src') }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { output, errors, status: await child.exited }
}
