import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { onOneEngine } from '../../../../test/harness/contract.ts'
import { sample } from '../../../../test/harness/samples.ts'

setDefaultTimeout(120_000)

const JSON_TYPE = 'application/json'
const NDJSON = 'application/x-ndjson'

onOneEngine('the type of a list', api => {
  beforeAll(async () => {
    await api.create('/products/', sample.product)
  })

  test('is the one that Accept prefers, and JSON if in doubt', async () => {
    for (const [accept, type] of [
      ['*/*', JSON_TYPE],
      ['application/*', JSON_TYPE],
      ['text/html, */*;q=0.1', JSON_TYPE],
      [NDJSON, NDJSON],
      ['Application/X-NDJSON; charset=utf-8', NDJSON],
      [`${JSON_TYPE}, ${NDJSON}`, NDJSON],
      [`${NDJSON}, */*`, NDJSON],
      [`${JSON_TYPE};q=0.5, ${NDJSON};q=0.6`, NDJSON],
      [`${JSON_TYPE};q=0, ${NDJSON};q=0.1, */*`, NDJSON],
      [`${NDJSON};q=0`, JSON_TYPE],
      [`${NDJSON};q=0, */*`, JSON_TYPE],
      [`${NDJSON};q=0.5, ${JSON_TYPE}`, JSON_TYPE],
      [`${NDJSON};q=0.5, application/*`, JSON_TYPE],
      [`${NDJSON}-seq`, JSON_TYPE],
    ] as const) {
      const { headers } = await api.get('/products/', { Accept: accept })
      expect({ accept, type: headers.get('Content-Type') }).toEqual({ accept, type })
    }
  })

  test('depends on Accept, as every list says, and no other answer', async () => {
    for (const path of ['/products/', '/products/?limit=0', '/products/?limit=1000', '/users/', '/reviews/?skip=7']) {
      for (const accept of [JSON_TYPE, NDJSON]) {
        const { headers } = await api.get(path, { Accept: accept })
        expect({ path, accept, vary: headers.get('Vary') }).toEqual({ path, accept, vary: 'Accept' })
      }
    }
    const list = await api.get('/products/')
    const unchanged = await api.get('/products/', { 'If-None-Match': list.headers.get('ETag') ?? '' })
    expect([unchanged.status, unchanged.headers.get('Vary')]).toEqual([304, 'Accept'])
    expect((await api.get('/products/1')).headers.get('Vary')).toBeNull()
  })
})
