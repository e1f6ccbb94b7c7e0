import { expect } from 'bun:test'
import { z } from 'zod'
import { type Client, client } from '../client.ts'
import { type Run, run, startService } from '../service.ts'

const FLAGS = ['--access-log', 'off']
const COLLECTIONS = ['/categories/', '/products/', '/users/', '/reviews/'] as const

export const Items = z.array(z.looseObject({ id: z.int() }))

/** Runs a copy that must succeed. */
export async function copied(from: string, to: string): Promise<Run> {
  const ran = await run(['copy', from, to])
  expect(ran.status, ran.errors).toBe(0)
  expect(ran.output).toMatch(/^Copied and compared: .*\n$/)
  return ran
}

/** Everything a service started on this database shows. */
export async function everythingIn(url: string): Promise<z.output<typeof Items>[]> {
  await using service = await startService(url, { flags: FLAGS })
  return await everythingOf(client(() => service.address))
}

export async function everythingOf(api: Client): Promise<z.output<typeof Items>[]> {
  const answers = await Promise.all(COLLECTIONS.map(path => api.get(`${path}?limit=1000000`)))
  return answers.map(({ body }) => Items.parse(body))
}
