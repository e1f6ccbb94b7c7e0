import { expect, test } from 'bun:test'
import { validate } from '@hyperjump/json-schema/openapi-3-1'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Spectral } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { z } from 'zod'
import { startKeyed } from '../../../test/harness/catalog/keyed-shop.ts'
import { type Client, client } from '../../../test/harness/client.ts'
import { onOneEngine } from '../../../test/harness/contract.ts'
import { sqlite } from '../../../test/harness/engines.ts'

/** The official schema of OpenAPI 3.1 together with that of its dialect of JSON Schema. */
const OPENAPI_SCHEMA = 'https://spec.openapis.org/oas/3.1/schema-base'

const SPECIFIED = '/openapi.json'
const STRICT = '/openapi.strict.json'

const Operations = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))),
})

/** Findings of Spectral in `/openapi.json`, with the reason in the specification. */
const SPECIFIED_FINDINGS = {
  // Collections end with a slash: general rule 5.
  'path-keys-no-trailing-slash': 4,
  // The specification gives its description a title and a version, and no contact, license, servers or tags.
  'info-contact': 1,
  'info-license': 1,
  'license-url': 1,
  'oas3-api-servers': 1,
  'openapi-tags': 1,
  'operation-tag-defined': 25,
  // It explains neither operations nor parameters.
  'operation-description': 25,
  'oas3-parameter-description': 32,
}

/** Those of operations that the specification does not have. */
const FURTHER_PATHS = ['/events', '/facets/products', '/ratings/products/{product_id}']

const STRICT_FINDINGS = {
  'path-keys-no-trailing-slash': 4,
  // The contact of a service is its operator, whose address the program does not know.
  'contact-properties': 1,
}

onOneEngine('both interface descriptions', api => {
  test('/openapi.strict.json has the operations of /openapi.json and further ones, and is JSON', async () => {
    const [specified, strict] = await Promise.all([api.get(SPECIFIED), api.get(STRICT)])
    expect(strict.headers.get('Content-Type')).toBe('application/json')
    const { paths } = Operations.parse(strict.body)
    for (const path of FURTHER_PATHS) expect(paths[path], path).toBeDefined()
    const others = Object.entries(paths).filter(([path]) => !FURTHER_PATHS.includes(path))
    expect(Object.fromEntries(others)).toEqual(Operations.parse(specified.body).paths)
  })

  test('both interface descriptions satisfy the official schema of OpenAPI 3.1 and its dialect of JSON Schema', async () => {
    for (const path of [SPECIFIED, STRICT]) {
      const description = await read(api, path)
      expect((await validate(OPENAPI_SCHEMA, JSON.parse(description))).valid, path).toBe(true)
      // Premise: an error deep in a schema is found.
      const wrong = description.replaceAll('"minLength":3', '"minLength":"3"')
      expect((await validate(OPENAPI_SCHEMA, JSON.parse(wrong))).valid, path).toBe(false)
    }
  })

  test("all of Spectral's oas rules find nothing in /openapi.json but what the specification wants", async () => {
    expect(await spectralFindings(api, SPECIFIED)).toEqual(SPECIFIED_FINDINGS)
  })

  test("all of Spectral's oas rules find nothing in /openapi.strict.json but final slashes and no address", async () => {
    expect(await spectralFindings(api, STRICT)).toEqual(STRICT_FINDINGS)
  })

  test("/openapi.strict.json passes Redocly's strictest lint, except for the final slashes of collections", async () => {
    expect(await redoclyFindings(api, STRICT)).toEqual([])
  })
})

test('with access keys, both interface descriptions pass the same checks', async () => {
  await using database = await sqlite.freshDatabase()
  await using guarded = await startKeyed(database.url)
  await expectValid(client(() => guarded.address))
  await using withPublicReads = await startKeyed(database.url, ['--public-reads', 'on'])
  const api = client(() => withPublicReads.address)
  await expectValid(api)
  // It has operations of both kinds, those that require a key and those that do not.
  expect(await spectralFindings(api, STRICT)).toEqual(STRICT_FINDINGS)
})

/** Checks all but what Spectral finds in the strict description, which takes as long as all this together. */
async function expectValid(api: Client): Promise<void> {
  for (const path of [SPECIFIED, STRICT]) {
    const description = await read(api, path)
    expect(description, path).toContain('"securitySchemes"')
    expect((await validate(OPENAPI_SCHEMA, JSON.parse(description))).valid, path).toBe(true)
  }
  expect(await spectralFindings(api, SPECIFIED)).toEqual(SPECIFIED_FINDINGS)
  expect(await redoclyFindings(api, STRICT)).toEqual([])
}

async function read(api: Client, path: string): Promise<string> {
  return (await fetch(api.address() + path)).text()
}

async function redoclyFindings(api: Client, path: string): Promise<unknown[]> {
  const rules = { 'no-path-trailing-slash': 'off' } as const
  const config = await createConfig({ extends: ['recommended-strict'], rules })
  const problems = await lintFromString({ source: await read(api, path), absoluteRef: path, config })
  return problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])
}

/** How often each rule finds something. */
async function spectralFindings(api: Client, path: string): Promise<Record<string, number>> {
  const spectral = new Spectral()
  spectral.setRuleset({ extends: [[{ ...oas, extends: [] }, 'all']] })
  const findings = Map.groupBy(await spectral.run(await read(api, path)), ({ code }) => String(code))
  return Object.fromEntries([...findings].map(([code, some]) => [code, some.length]))
}
