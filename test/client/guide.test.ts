import { expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isJsonObject } from '../../src/json-object.ts'
import { client } from '../harness/client.ts'
import { withEachEngine } from '../harness/contract.ts'
import { startService } from '../harness/service.ts'

setDefaultTimeout(120_000)

const GUIDE = readFileSync(join(resolve(import.meta.dir, '../..'), 'docs/storefront.md'), 'utf8')

/** A line of the guide that sends a request, and what the guide says that it answers. */
interface Step {
  readonly command: string
  readonly headers: readonly string[]
  readonly json: unknown
}

withEachEngine('the guide to a storefront', engine => {
  test('every request of the guide has the answer that the guide shows', async () => {
    await using database = await engine.freshDatabase()
    await using service = await startService(database.url, { flags: ['--access-log', 'off'] })
    const api = client(() => service.address)
    const steps = stepsOf(GUIDE)
    expect(steps.length).toBeGreaterThan(10)
    for (const { command, headers, json } of steps) {
      const { path, request } = requestOf(command)
      const answer = await api.send(path, request)
      const body = typeof answer.body === 'string' ? JSON.parse(answer.body) : answer.body
      expect(masked(body), command).toEqual(masked(json))
      for (const header of headers) {
        const [name = '', value = ''] = header.split(/: (.*)/)
        expect(answer.headers.get(name), command).toBe(value)
      }
    }
  })
})

/** An event without what differs each time. */
function masked(value: unknown): unknown {
  return isJsonObject(value) && 'specversion' in value ? { ...value, id: '', time: '' } : value
}

function stepsOf(guide: string): Step[] {
  const step = /```sh\n(curl [^`]*)\n```\n\n(?:```http\n([^`]*)\n```\n\n)?```json\n([^`]*)\n```/g
  return [...guide.matchAll(step)].map(([, command = '', headers = '', json = '']) => ({
    command,
    headers: headers.split('\n').filter(line => line !== ''),
    json: JSON.parse(json),
  }))
}

/** Reads a line for curl. */
function requestOf(command: string): { path: string; request: RequestInit } {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '').slice(1)
  const headers = new Headers()
  let [path, body, method] = ['', null as string | null, null as string | null]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const next = () => words.shift() ?? ''
    if (word === '-H') headers.set(...pair(next()))
    else if (word === '-X') method = next()
    else if (word === '-d' || word === '--data-binary') body = next()
    else if (!word.startsWith('-')) path = word.replace(/^localhost:8000/, '')
  }
  return {
    path,
    request: { method: method ?? (body === null ? 'GET' : 'POST'), headers, ...(body !== null && { body }) },
  }
}

function pair(header: string): [name: string, value: string] {
  const [name = '', value = ''] = header.split(/: (.*)/)
  return [name, value]
}
